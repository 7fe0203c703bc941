import { highBits, lowBits } from './float-bits.ts';

/** Times outside ±2^51 ms would make a delta of deltas inexact in a double. */
export const maxTimestamp = 2 ** 51;
/** The chunk's sample count has 16 bits. */
export const maxChunkSamples = 65_535;

const two32 = 4_294_967_296;

/**
 * Writes one XOR chunk, byte for byte as Prometheus does.
 * Shape: u16 BE count, then bits, most significant first: t0 as zig-zag varint and v0; t1−t0 as uvarint and a value;
 * then delta-of-delta and value for each sample (Facebook's Gorilla paper; Prometheus tsdb/chunkenc).
 * Assumptions: times in ascending order. Errors: RangeError for times out of order or out of range, and for a full chunk.
 */
export class XorAppender {
  #bytes: Uint8Array;
  #pos = 16;
  #count = 0;
  #minT = 0;
  #t = 0;
  #delta = 0;
  #high = 0;
  #low = 0;
  #leading = -1;
  #trailing = 0;

  constructor(initialBytes = 64) {
    this.#bytes = new Uint8Array(initialBytes);
  }

  get count(): number {
    return this.#count;
  }

  get minT(): number {
    return this.#minT;
  }

  get maxT(): number {
    return this.#t;
  }

  /** Bits of the last value. */
  get lastHigh(): number {
    return this.#high;
  }

  get lastLow(): number {
    return this.#low;
  }

  get bitLength(): number {
    return this.#pos;
  }

  append(t: number, value: number): void {
    this.appendBits(t, highBits(value), lowBits(value));
  }

  /** As `append`, with the value's exact bits (unsigned words). */
  appendBits(t: number, high: number, low: number): void {
    this.#reserve();
    const n = this.#count;
    if (n > 1) {
      const delta = t - this.#t;
      this.#putDeltaOfDelta(delta - this.#delta, delta, t);
      this.#delta = delta;
      this.#putValue(high, low);
    } else if (n === 1) {
      const delta = t - this.#t;
      assertTime(t, delta);
      this.#putUvarint(delta);
      this.#delta = delta;
      this.#putValue(high, low);
    } else {
      assertTime(t, 0);
      this.#putUvarint(t >= 0 ? t * 2 : t * -2 - 1);
      this.#put(high, 32);
      this.#put(low, 32);
      this.#minT = t;
    }
    this.#t = t;
    this.#high = high;
    this.#low = low;
    this.#count = n + 1;
  }

  /**
   * The finished bytes of the first `count` samples, whose bits end at `bitLength`: a copy.
   * Both default to everything; an earlier moment can be asked for at any time, since bits are only added.
   */
  bytes(count = this.#count, bitLength = this.#pos): Uint8Array {
    const length = (bitLength + 7) >>> 3;
    const copy = this.#bytes.slice(0, length);
    copy[0] = count >>> 8;
    copy[1] = count & 255;
    const used = bitLength & 7;
    if (used !== 0) copy[length - 1]! &= 0xff << (8 - used);
    return copy;
  }

  #putDeltaOfDelta(dod: number, delta: number, t: number): void {
    if (dod === 0) {
      this.#pos += 1;
      return;
    }
    assertTime(t, delta);
    if (dod >= -8191 && dod <= 8192) this.#put(0x8000 | (dod & 0x3fff), 16);
    else if (dod >= -65_535 && dod <= 65_536) this.#put(0xc0000 | (dod & 0x1ffff), 20);
    else if (dod >= -524_287 && dod <= 524_288) this.#put(0xe00000 | (dod & 0xfffff), 24);
    else {
      this.#put(15, 4);
      this.#put(Math.floor(dod / two32) >>> 0, 32);
      this.#put(dod >>> 0, 32);
    }
  }

  #putValue(high: number, low: number): void {
    const xh = high ^ this.#high;
    const xl = low ^ this.#low;
    if ((xh | xl) === 0) {
      this.#pos += 1;
      return;
    }
    let leading = xh !== 0 ? Math.clz32(xh) : 32 + Math.clz32(xl);
    if (leading > 31) leading = 31;
    const trailing = xl !== 0 ? 31 - Math.clz32(xl & -xl) : 63 - Math.clz32(xh & -xh);
    if (this.#leading >= 0 && leading >= this.#leading && trailing >= this.#trailing) {
      this.#put(2, 2);
      this.#putShifted(xh, xl, this.#trailing, 64 - this.#leading - this.#trailing);
      return;
    }
    this.#leading = leading;
    this.#trailing = trailing;
    const significant = 64 - leading - trailing;
    this.#put((3 << 11) | (leading << 6) | (significant & 63), 13);
    this.#putShifted(xh, xl, trailing, significant);
  }

  /** Writes the `n` lowest bits of (xh, xl) shifted right by `shift`. */
  #putShifted(xh: number, xl: number, shift: number, n: number): void {
    if (shift >= 32) {
      this.#put(xh >>> (shift - 32), n);
      return;
    }
    const low = shift === 0 ? xl : (xl >>> shift) | (xh << (32 - shift));
    if (n > 32) {
      this.#put(xh >>> shift, n - 32);
      this.#put(low, 32);
    } else this.#put(low, n);
  }

  /** Writes the `n` (1…32) lowest bits of `value`. The buffer behind the position is zero and long enough. */
  #put(value: number, n: number): void {
    const bytes = this.#bytes;
    let i = this.#pos >>> 3;
    const free = 8 - (this.#pos & 7);
    this.#pos += n;
    let rest = n;
    if (free < 8) {
      if (rest <= free) {
        bytes[i]! |= (value & ((1 << rest) - 1)) << (free - rest);
        return;
      }
      rest -= free;
      bytes[i++]! |= (value >>> rest) & ((1 << free) - 1);
    }
    while (rest >= 8) {
      rest -= 8;
      bytes[i++] = value >>> rest;
    }
    if (rest > 0) bytes[i] = (value & ((1 << rest) - 1)) << (8 - rest);
  }

  #putUvarint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#put((rest % 128) | 128, 8);
      rest = Math.floor(rest / 128);
    }
    this.#put(rest, 8);
  }

  /** Room for the largest sample: 68 bits of time and 77 of value, or two varints. */
  #reserve(): void {
    if (this.#count >= maxChunkSamples) throw new RangeError('chunk is full');
    const need = (this.#pos >>> 3) + 24;
    if (need <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(need, (this.#bytes.length * 3) >>> 1));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

function assertTime(t: number, delta: number): void {
  if (!(t <= maxTimestamp && t >= -maxTimestamp) || !Number.isInteger(t))
    throw new RangeError(`timestamp ${t} out of range`);
  if (delta < 0) throw new RangeError(`timestamp ${t} out of order`);
}

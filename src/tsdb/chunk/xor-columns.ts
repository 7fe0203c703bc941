import { putBits } from './bit-writer.ts';

/** Times outside ±2^51 ms would make a delta of deltas inexact in a double. */
export const maxTimestamp = 2 ** 51;
/** The chunk's sample count has 16 bits. */
export const maxChunkSamples = 65_535;
/** The largest sample: two varints, or 68 bits of time and 77 of value, and what a store of bits may touch behind. */
export const maxSampleBytes = 28;

const two32 = 4_294_967_296;

/**
 * The encoder states of many XOR chunks that are being written at once, as columns: ten thousand open series cost a
 * few typed arrays instead of ten thousand objects. The bytes themselves lie where the caller puts them.
 * Shape of a chunk: u16 BE count, then bits, most significant first: t0 as zig-zag varint and v0; t1−t0 as uvarint
 * and a value; then delta-of-delta and value for each sample (Facebook's Gorilla paper; Prometheus tsdb/chunkenc).
 */
export class XorColumns {
  count: Uint16Array;
  minT: Float64Array;
  /** Time of the last sample. */
  t: Float64Array;
  #delta: Float64Array;
  /** Bits of the last value. */
  high: Int32Array;
  low: Int32Array;
  /** Bits written, from the chunk's first byte. */
  pos: Uint32Array;
  /** −1 while there is no window of significant bits yet. */
  #leading: Int8Array;
  #trailing: Uint8Array;

  constructor(capacity: number) {
    this.count = new Uint16Array(capacity);
    this.minT = new Float64Array(capacity);
    this.t = new Float64Array(capacity);
    this.#delta = new Float64Array(capacity);
    this.high = new Int32Array(capacity);
    this.low = new Int32Array(capacity);
    this.pos = new Uint32Array(capacity);
    this.#leading = new Int8Array(capacity);
    this.#trailing = new Uint8Array(capacity);
  }

  /** Makes room for `capacity` chunks. */
  grow(capacity: number): void {
    this.count = grown(this.count, capacity);
    this.minT = grown(this.minT, capacity);
    this.t = grown(this.t, capacity);
    this.#delta = grown(this.#delta, capacity);
    this.high = grown(this.high, capacity);
    this.low = grown(this.low, capacity);
    this.pos = grown(this.pos, capacity);
    this.#leading = grown(this.#leading, capacity);
    this.#trailing = grown(this.#trailing, capacity);
  }

  /** Begins a chunk. */
  reset(s: number): void {
    this.count[s] = 0;
    this.pos[s] = 16;
    this.#delta[s] = 0;
    this.#leading[s] = -1;
    this.#trailing[s] = 0;
  }

  /** Whole bytes that the chunk has so far. */
  byteLength(s: number): number {
    return (this.pos[s]! + 7) >>> 3;
  }

  /**
   * Adds a sample to chunk `s`, whose first byte is `bytes[base]`; `maxSampleBytes` must be free behind what is written.
   * Assumptions: times ascend. Errors: RangeError for a time out of order or out of range, and for a full chunk.
   */
  append(s: number, bytes: Uint8Array, base: number, t: number, high: number, low: number): void {
    const n = this.count[s]!;
    const at = base * 8;
    let pos = at + this.pos[s]!;
    if (n > 1) {
      const delta = t - this.t[s]!;
      const dod = delta - this.#delta[s]!;
      if (dod === 0) {
        // A zero bit: it is there already when the byte is begun, else it is the first of a fresh one.
        if ((pos & 7) === 0) bytes[pos >>> 3] = 0;
        pos += 1;
      } else {
        assertTime(t, delta);
        pos = putDeltaOfDelta(bytes, pos, dod);
        this.#delta[s] = delta;
      }
      pos = this.#putValue(s, bytes, pos, high, low);
      if (n >= maxChunkSamples) throw new RangeError('chunk is full');
    } else if (n === 1) {
      const delta = t - this.t[s]!;
      assertTime(t, delta);
      pos = putUvarint(bytes, pos, delta);
      this.#delta[s] = delta;
      pos = this.#putValue(s, bytes, pos, high, low);
    } else {
      assertTime(t, 0);
      pos = putUvarint(bytes, pos, t >= 0 ? t * 2 : t * -2 - 1);
      putBits(bytes, pos, high, 32);
      putBits(bytes, pos + 32, low, 32);
      pos += 64;
      this.minT[s] = t;
    }
    this.pos[s] = pos - at;
    this.t[s] = t;
    this.high[s] = high;
    this.low[s] = low;
    this.count[s] = n + 1;
    bytes[base] = (n + 1) >>> 8;
    bytes[base + 1] = n + 1;
  }

  #putValue(s: number, bytes: Uint8Array, pos: number, high: number, low: number): number {
    const xh = high ^ this.high[s]!;
    const xl = low ^ this.low[s]!;
    if ((xh | xl) === 0) {
      if ((pos & 7) === 0) bytes[pos >>> 3] = 0;
      return pos + 1;
    }
    let leading = xh !== 0 ? Math.clz32(xh) : 32 + Math.clz32(xl);
    if (leading > 31) leading = 31;
    const trailing = xl !== 0 ? 31 - Math.clz32(xl & -xl) : 63 - Math.clz32(xh & -xh);
    const oldLeading = this.#leading[s]!;
    const oldTrailing = this.#trailing[s]!;
    if (oldLeading >= 0 && leading >= oldLeading && trailing >= oldTrailing) {
      putBits(bytes, pos, 2, 2);
      return putShifted(bytes, pos + 2, xh, xl, oldTrailing, 64 - oldLeading - oldTrailing);
    }
    this.#leading[s] = leading;
    this.#trailing[s] = trailing;
    const significant = 64 - leading - trailing;
    putBits(bytes, pos, (3 << 11) | (leading << 6) | (significant & 63), 13);
    return putShifted(bytes, pos + 13, xh, xl, trailing, significant);
  }
}

/** Returns the position behind. An n-bit bucket holds −(2^(n−1)−1) … 2^(n−1). */
function putDeltaOfDelta(bytes: Uint8Array, pos: number, dod: number): number {
  if (dod >= -8191 && dod <= 8192) {
    putBits(bytes, pos, 0x8000 | (dod & 0x3fff), 16);
    return pos + 16;
  }
  if (dod >= -65_535 && dod <= 65_536) {
    putBits(bytes, pos, 0xc0000 | (dod & 0x1ffff), 20);
    return pos + 20;
  }
  if (dod >= -524_287 && dod <= 524_288) {
    putBits(bytes, pos, 0xe00000 | (dod & 0xfffff), 24);
    return pos + 24;
  }
  putBits(bytes, pos, 15, 4);
  putBits(bytes, pos + 4, Math.floor(dod / two32), 32);
  putBits(bytes, pos + 36, dod, 32);
  return pos + 68;
}

/** Writes the `n` lowest bits of (xh, xl) shifted right by `shift`. */
function putShifted(bytes: Uint8Array, pos: number, xh: number, xl: number, shift: number, n: number): number {
  if (shift >= 32) {
    putBits(bytes, pos, xh >>> (shift - 32), n);
    return pos + n;
  }
  const low = shift === 0 ? xl : (xl >>> shift) | (xh << (32 - shift));
  if (n <= 32) {
    putBits(bytes, pos, low, n);
    return pos + n;
  }
  putBits(bytes, pos, xh >>> shift, n - 32);
  putBits(bytes, pos + n - 32, low, 32);
  return pos + n;
}

function putUvarint(bytes: Uint8Array, start: number, value: number): number {
  let pos = start;
  let rest = value;
  while (rest > 127) {
    putBits(bytes, pos, (rest % 128) | 128, 8);
    pos += 8;
    rest = Math.floor(rest / 128);
  }
  putBits(bytes, pos, rest, 8);
  return pos + 8;
}

function assertTime(t: number, delta: number): void {
  if (!(t <= maxTimestamp && t >= -maxTimestamp) || !Number.isInteger(t))
    throw new RangeError(`timestamp ${t} out of range`);
  if (delta < 0) throw new RangeError(`timestamp ${t} out of order`);
}

type Column = Uint8Array | Int8Array | Uint16Array | Int32Array | Uint32Array | Float64Array;

/** A longer copy of a typed column. */
export function grown<T extends Column>(column: T, capacity: number): T {
  const Kind = column.constructor as new (length: number) => T;
  const longer = new Kind(capacity);
  longer.set(column as never);
  return longer;
}

import { OperatorError } from '../base/errors.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Appends numbers and texts to a buffer that grows, for log records and block indexes. Little-endian. */
export class ByteWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #length = 0;

  constructor(capacity = 1024) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
  }

  get length(): number {
    return this.#length;
  }

  /** Number of bytes that fit before the buffer has to grow. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** A view of the bytes written so far; the next write may move them. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** A copy of the bytes written so far; the writer starts again empty. */
  take(): Uint8Array {
    const copy = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return copy;
  }

  /** Starts again empty, in the same memory. */
  clear(): void {
    this.#length = 0;
  }

  u8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  u32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#length, value, true);
    this.#length += 4;
  }

  f64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#length, value, true);
    this.#length += 8;
  }

  /** An unsigned integer up to 2^53. */
  varint(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest % 128) | 128;
      rest = rest < 0x7fffffff ? rest >>> 7 : Math.floor(rest / 128);
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A signed integer within ±2^52. */
  zigzag(value: number): void {
    const folded = value >= 0 ? value * 2 : value * -2 - 1;
    if (folded > 127) return this.varint(folded);
    this.#reserve(1);
    this.#bytes[this.#length++] = folded;
  }

  /**
   * Two words without their trailing zero bytes: the number of the other bytes, then these bytes, highest first. Saves
   * space, because the double of a small whole number ends in zeros.
   */
  trimmedWords(high: number, low: number): void {
    this.#reserve(9);
    const at = this.#length;
    const n = low !== 0 ? 8 - (ctz(low) >>> 3) : high !== 0 ? 4 - (ctz(high) >>> 3) : 0;
    this.#bytes[at] = n;
    // All bytes are written: the insignificant ones are overwritten by the next write.
    this.#view.setInt32(at + 1, high);
    this.#view.setInt32(at + 5, low);
    this.#length = at + 1 + n;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** The length in bytes as varint, then UTF-8. */
  text(value: string): void {
    if (this.#shortAscii(value)) return;
    const bytes = encoder.encode(value);
    this.varint(bytes.length);
    this.bytes(bytes);
  }

  /**
   * Most texts are names and values of labels, short and ASCII: for these a loop is many times as fast as the encoder.
   */
  #shortAscii(value: string): boolean {
    const n = value.length;
    if (n > 127) return false;
    this.#reserve(n + 1);
    const bytes = this.#bytes;
    const at = this.#length;
    for (let i = 0; i < n; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return false;
      bytes[at + 1 + i] = code;
    }
    bytes[at] = n;
    this.#length = at + 1 + n;
    return true;
  }

  #reserve(n: number): void {
    if (this.#length + n <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + n));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}

/** Reads the output of ByteWriter. Errors: ERR_STORE_CORRUPT when a field reaches past the end. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  end: number;
  pos: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.pos = start;
    this.end = end;
  }

  /** Continues at another part of the same bytes. */
  moveTo(start: number, end: number): void {
    this.pos = start;
    this.end = end;
  }

  get done(): boolean {
    return this.pos >= this.end;
  }

  u32(): number {
    const at = this.#step(4);
    return this.#view.getUint32(at, true);
  }

  f64(): number {
    const at = this.#step(8);
    return this.#view.getFloat64(at, true);
  }

  varint(): number {
    const bytes = this.#bytes;
    const first = this.pos < this.end ? bytes[this.pos]! : 128;
    if (first < 128) {
      this.pos++;
      return first;
    }
    let value = 0;
    let scale = 1;
    while (this.pos < this.end) {
      const b = bytes[this.pos++]!;
      value += (b & 127) * scale;
      if (b < 128) return value;
      scale *= 128;
      if (scale > 2 ** 56) break;
    }
    throw short();
  }

  zigzag(): number {
    const value = this.varint();
    if (value < 0x40000000) return (value >>> 1) ^ -(value & 1);
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** The words read by `trimmedWords`. */
  high = 0;
  low = 0;

  trimmedWords(): void {
    const bytes = this.#bytes;
    let at = this.#step(1);
    let n = bytes[at++]!;
    if (n > 8) throw short();
    this.#step(n);
    if (at + 8 <= bytes.length) {
      // Whole words are read, and the bytes after the value are masked. `n === 0` is a case of its own, because
      // JavaScript shifts by 32 as by 0.
      this.high = n === 0 ? 0 : n < 4 ? this.#view.getInt32(at) & (-1 << (32 - 8 * n)) : this.#view.getInt32(at);
      this.low = n <= 4 ? 0 : this.#view.getInt32(at + 4) & (n < 8 ? -1 << (64 - 8 * n) : -1);
      return;
    }
    let high = 0;
    let low = 0;
    for (let shift = 24; n > 0 && shift >= 0; shift -= 8, n--) high |= bytes[at++]! << shift;
    for (let shift = 24; n > 0; shift -= 8, n--) low |= bytes[at++]! << shift;
    this.high = high;
    this.low = low;
  }

  /** A copy of `length` bytes. */
  bytes(length: number): Uint8Array {
    const at = this.#step(length);
    return this.#bytes.slice(at, at + length);
  }

  /** Like `bytes`, without a copy. */
  view(length: number): Uint8Array {
    const at = this.#step(length);
    return this.#bytes.subarray(at, at + length);
  }

  text(): string {
    const length = this.varint();
    const at = this.#step(length);
    try {
      return decoder.decode(this.#bytes.subarray(at, at + length));
    } catch (cause) {
      throw new OperatorError('ERR_STORE_CORRUPT', 'a text is not UTF-8', { cause });
    }
  }

  skip(length: number): void {
    this.#step(length);
  }

  #step(length: number): number {
    const at = this.pos;
    if (length > this.end - at) throw short();
    this.pos = at + length;
    return at;
  }
}

/** The number of zero bits at the end of a word that is not zero. */
function ctz(word: number): number {
  return 31 - Math.clz32(word & -word);
}

function short(): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', 'a field reaches past the end');
}

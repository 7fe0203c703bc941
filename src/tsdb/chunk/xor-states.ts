/** The columns of a chunk's row, as indexes into its five doubles, or into the ten words that share their bytes. */
export const rowDoubles = 5;
export const rowWords = 10;
export const row = {
  /** Doubles: the first and the last time, and the last difference of times. */
  minT: 0,
  maxT: 1,
  delta: 2,
  /** Words: the two halves of the last value, and the number of bits written, from the chunk's first byte. */
  high: 6,
  low: 7,
  bits: 8,
  /**
   * A word of two halves. The upper half is the number of samples. The lower half describes the window of significant
   * bits: one byte is the number of leading zeros + 1 (0: no window yet), the next is the number of trailing zeros.
   */
  counts: 9,
} as const;

/** Bits of the sample count, which precedes the samples of a chunk. */
export const headerBits = 16;

/**
 * The states of many XOR chunks that are open at once, one row for each chunk. Ten thousand open series cost one typed
 * array instead of ten thousand objects, and one sample touches one cache line. The caller decides where the bytes of
 * the chunks lie; `encodeXor` writes the state and the bytes.
 */
export class XorStates {
  doubles: Float64Array;
  words: Int32Array;

  constructor(capacity: number) {
    this.doubles = new Float64Array(capacity * rowDoubles);
    this.words = new Int32Array(this.doubles.buffer);
  }

  /** Makes room for `capacity` chunks. */
  grow(capacity: number): void {
    const longer = new Float64Array(capacity * rowDoubles);
    longer.set(this.doubles);
    this.doubles = longer;
    this.words = new Int32Array(longer.buffer);
  }

  get capacity(): number {
    return this.doubles.length / rowDoubles;
  }

  /** Begins a chunk. */
  reset(s: number): void {
    this.words.fill(0, s * rowWords, (s + 1) * rowWords);
    this.words[s * rowWords + row.bits] = headerBits;
  }

  count(s: number): number {
    return this.words[s * rowWords + row.counts]! >>> 16;
  }

  /** Time of the first sample. */
  minT(s: number): number {
    return this.doubles[s * rowDoubles + row.minT]!;
  }

  /** Time of the last sample. */
  maxT(s: number): number {
    return this.doubles[s * rowDoubles + row.maxT]!;
  }

  /** The upper half of the last value's bits; `low` gives the lower half. */
  high(s: number): number {
    return this.words[s * rowWords + row.high]!;
  }

  low(s: number): number {
    return this.words[s * rowWords + row.low]!;
  }

  /** Bits written, from the chunk's first byte. */
  bits(s: number): number {
    return this.words[s * rowWords + row.bits]!;
  }

  /** Writes the count at the front of a copy of the chunk. */
  putCount(s: number, bytes: Uint8Array): void {
    const count = this.count(s);
    bytes[0] = count >>> 8;
    bytes[1] = count;
  }

  /** Whole bytes that the chunk has so far. */
  byteLength(s: number): number {
    return (this.bits(s) + 7) >>> 3;
  }
}

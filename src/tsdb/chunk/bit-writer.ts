/** Bytes that one `putBits` may touch behind the bit position: keep so many free. */
export const putSlackBytes = 5;

/**
 * Writes the `n` (1…32) lowest bits of `value` at a bit position, most significant first.
 * Assumptions: `putSlackBytes` of room behind the position. What stands behind the written bits is cleared, so that
 * memory can be used again without being wiped. No loops: this is the hot spot of the encoder.
 */
export function putBits(bytes: Uint8Array, pos: number, value: number, n: number): void {
  const left = value << (32 - n);
  const shift = pos & 7;
  const i = pos >>> 3;
  const high = left >>> shift;
  bytes[i] = shift === 0 ? high >>> 24 : bytes[i]! | (high >>> 24);
  bytes[i + 1] = high >>> 16;
  bytes[i + 2] = high >>> 8;
  bytes[i + 3] = high;
  bytes[i + 4] = left << (8 - shift);
}

/** A bit stream that grows, for chunks that are not written in place. */
export class BitWriter {
  #bytes: Uint8Array;
  #pos: number;

  /** `headerBytes` zero bytes stand before the first bit. */
  constructor(headerBytes: number, capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
    this.#pos = headerBytes * 8;
  }

  get byteLength(): number {
    return (this.#pos + 7) >>> 3;
  }

  /** The lowest `n` (1…32) bits of `value`. */
  put(value: number, n: number): void {
    const need = (this.#pos >>> 3) + putSlackBytes;
    if (need > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(need, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    putBits(this.#bytes, this.#pos, value, n);
    this.#pos += n;
  }

  put64(high: number, low: number): void {
    this.put(high, 32);
    this.put(low, 32);
  }

  /** Overwrites a header byte. */
  setByte(at: number, value: number): void {
    this.#bytes[at] = value;
  }

  /** What was written, as a copy. */
  take(): Uint8Array {
    return this.#bytes.slice(0, this.byteLength);
  }
}

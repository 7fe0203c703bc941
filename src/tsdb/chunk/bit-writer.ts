import { putSlackBytes, putWord } from './put-bits.ts';

/** Writes bits to a growing buffer of its own, for chunks that are not encoded directly in the memory of the head. */
export class BitWriter {
  #bytes: Uint8Array;
  #view: DataView;
  #pos: number;

  /** `headerBytes` zero bytes precede the first bit. */
  constructor(headerBytes: number, capacity = 256) {
    this.#bytes = new Uint8Array(capacity);
    this.#view = new DataView(this.#bytes.buffer);
    this.#pos = headerBytes * 8;
  }

  get byteLength(): number {
    return (this.#pos + 7) >>> 3;
  }

  /** Appends the lowest `n` (1…32) bits of `value`. */
  put(value: number, n: number): void {
    const need = (this.#pos >>> 3) + putSlackBytes;
    if (need > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(need, this.#bytes.length * 2));
      grown.set(this.#bytes);
      this.#bytes = grown;
      this.#view = new DataView(grown.buffer);
    }
    putWord(this.#view, this.#pos, value << (32 - n));
    this.#pos += n;
  }

  put64(high: number, low: number): void {
    this.put(high, 32);
    this.put(low, 32);
  }

  /** A copy of the bytes written so far. */
  take(): Uint8Array {
    return this.#bytes.slice(0, this.byteLength);
  }
}

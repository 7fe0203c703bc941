import { highBits, highWord, lowBits, lowWord } from './float-bits.ts';
import { maxSampleBytes, XorColumns } from './xor-columns.ts';

/**
 * Writes one XOR chunk, byte for byte as Prometheus does. Can be used again for the next one after `reset`.
 * Assumptions and errors as `XorColumns.append`.
 */
export class XorAppender {
  #bytes: Uint8Array;
  readonly #state = new XorColumns(1);

  constructor(initialBytes = 64) {
    this.#bytes = new Uint8Array(initialBytes);
    this.#state.reset(0);
  }

  get count(): number {
    return this.#state.count[0]!;
  }

  get minT(): number {
    return this.#state.minT[0]!;
  }

  get maxT(): number {
    return this.#state.t[0]!;
  }

  reset(): void {
    this.#state.reset(0);
  }

  append(t: number, value: number): void {
    this.appendBits(t, highBits(value), lowBits(value));
  }

  /** As `appendBits`, with the two words of a double at `words[at]`, in machine order. */
  appendWords(t: number, words: Uint32Array, at: number): void {
    this.appendBits(t, words[at + highWord]!, words[at + lowWord]!);
  }

  /** As `append`, with the value's exact bits. */
  appendBits(t: number, high: number, low: number): void {
    const need = this.#state.byteLength(0) + maxSampleBytes;
    if (need > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(need, (this.#bytes.length * 3) >>> 1));
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#state.append(0, this.#bytes, 0, t, high, low);
  }

  /** The chunk's bytes, as a copy. */
  bytes(): Uint8Array {
    return this.count === 0 ? new Uint8Array(2) : this.#bytes.slice(0, this.#state.byteLength(0));
  }
}

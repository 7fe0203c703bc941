/** Size of a chunk. Units: bytes. */
const chunkBytes = 128 * 1024;
const encoder = new TextEncoder();

/**
 * The bytes of a page (the answer to a scrape), in chunks. Most of a page is text that already exists as bytes and is
 * copied, not encoded again.
 * All chunks lie in the same memory: if each had its own, every page would make V8 collect its whole heap.
 */
export class PageWriter {
  #bytes = new Uint8Array(chunkBytes + 4_096);
  #length = 0;

  /** True when there are enough bytes for a chunk. */
  get full(): boolean {
    return this.#length >= chunkBytes;
  }

  get empty(): boolean {
    return this.#length === 0;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** Writes a string as UTF-8. Short ASCII, such as a number, is written by a loop that is faster than TextEncoder. */
  text(value: string): void {
    if (value.length > 64) return this.bytes(encoder.encode(value));
    this.#reserve(value.length);
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) return this.bytes(encoder.encode(value));
      this.#bytes[this.#length + i] = code;
    }
    this.#length += value.length;
  }

  /** The bytes written since the last chunk. The next write overwrites them. */
  take(): Uint8Array {
    const chunk = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return chunk;
  }

  #reserve(n: number): void {
    if (this.#length + n <= this.#bytes.length) return;
    const longer = new Uint8Array(Math.max(this.#length + n, this.#bytes.length * 2));
    longer.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = longer;
  }
}

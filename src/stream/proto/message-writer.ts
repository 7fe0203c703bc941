/**
 * Writes protobuf messages into one buffer that is reused for each message: the stream writes tens of thousands of
 * small messages a second, and a writer for each nested one costs more than its content.
 */
export class MessageWriter {
  #buffer = Buffer.allocUnsafe(16 * 1024);
  #at = 0;

  /** Starts a new message. */
  begin(): this {
    this.#at = 0;
    return this;
  }

  /** A copy of the message. */
  finish(): Buffer {
    return Buffer.from(this.#buffer.subarray(0, this.#at));
  }

  /** An unsigned integer field up to 2^53. */
  uint(field: number, value: number): void {
    this.#reserve(20);
    this.#varint(field * 8);
    this.#varint(value);
  }

  /** A text field. */
  string(field: number, value: string): void {
    // A UTF-16 unit takes at most three bytes in UTF-8.
    this.#reserve(20 + 3 * value.length);
    this.#varint(field * 8 + 2);
    const start = this.#at + 1;
    this.#close(start, this.#buffer.write(value, start, 'utf8'));
  }

  /** An embedded message, written by `fill` into this same writer. */
  message(field: number, fill: (writer: this) => void): void {
    this.#reserve(20);
    this.#varint(field * 8 + 2);
    const start = this.#at + 1;
    this.#at = start;
    fill(this);
    this.#reserve(10);
    this.#close(start, this.#at - start);
  }

  /** Writes the length before the content at `start`, for which one byte was reserved: longer content is moved. */
  #close(start: number, length: number): void {
    let more = 0;
    for (let rest = length; rest > 127; rest = Math.floor(rest / 128)) more++;
    if (more > 0) this.#buffer.copyWithin(start + more, start, start + length);
    this.#at = start - 1;
    this.#varint(length);
    this.#at = start + more + length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest > 127) {
      this.#buffer[this.#at++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    this.#buffer[this.#at++] = rest;
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(2 * this.#buffer.length, this.#at + bytes));
    this.#buffer.copy(grown, 0, 0, this.#at);
    this.#buffer = grown;
  }
}

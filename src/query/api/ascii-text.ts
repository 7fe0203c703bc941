import { formatSample } from './format-value.ts';

/** Integers up to here are exact; they are taken apart at `billion` so that both halves are small. */
const maxExact = 2 ** 53;
const billion = 1e9;
const smallBytes = 4096;
const digit = 0x30;
const minus = 0x2d;
/** More than any number's text has. */
const numberBytes = 32;

/**
 * ASCII text that is put together byte by byte: a large answer is mostly numbers, and making a string of each of them
 * costs several times what their digits do.
 */
export class AsciiText {
  #bytes = Buffer.allocUnsafeSlow(smallBytes);
  #length = 0;

  /** Characters since the last `take`. */
  get length(): number {
    return this.#length;
  }

  /** Adds text. Assumption: all of it is ASCII. */
  append(text: string): void {
    this.#reserve(text.length);
    this.#length += this.#bytes.write(text, this.#length, 'latin1');
  }

  /** Adds the ASCII text of these bytes, from one of them on. */
  appendBytes(text: Uint8Array, from: number): void {
    const { length } = text;
    this.#reserve(length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = from; i < length; i++) bytes[at++] = text[i]!;
    this.#length = at;
  }

  /** Adds a number as `formatSample` shows it. */
  appendSample(value: number): void {
    const size = Math.abs(value);
    if (!(size > 0 && size < maxExact && Math.floor(size) === size)) {
      this.append(formatSample(value));
      return;
    }
    this.#reserve(numberBytes);
    if (value < 0) this.#bytes[this.#length++] = minus;
    if (size < billion) this.#digits(size, digitsOf(size));
    else {
      const high = Math.floor(size / billion);
      this.#digits(high, digitsOf(high));
      this.#digits(size - high * billion, 9);
    }
  }

  /** All text since the last time. */
  take(): string {
    const text = this.#bytes.toString('latin1', 0, this.#length);
    this.#length = 0;
    return text;
  }

  #digits(value: number, count: number): void {
    const bytes = this.#bytes;
    let rest = value | 0;
    const end = this.#length + count;
    for (let at = end - 1; at >= end - count; at--) {
      const tenth = (rest / 10) | 0;
      bytes[at] = digit + rest - tenth * 10;
      rest = tenth;
    }
    this.#length = end;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 4));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}

function digitsOf(value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit; limit *= 10) count++;
  return count;
}

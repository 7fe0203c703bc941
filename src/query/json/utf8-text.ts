import { formatSample } from './format-value.ts';
import type { Stamps } from './stamps.ts';
import type { TextBlocks } from './text-blocks.ts';

/** Upper bound of a sample's text. Units: bytes. */
export const maxSampleBytes = 32;

/** Integers up to here are exact; they are split at `billion` so that both halves are small. */
const maxExact = 2 ** 53;
const billion = 1e9;
const minus = 0x2d;

const digit = 0x30;
/** The two digits of each number below a hundred, the first one in the lower byte. */
const pairs = Uint16Array.from({ length: 100 }, (_, n) => digit + Math.floor(n / 10) + ((digit + (n % 10)) << 8));

/**
 * Writes a sample's value as `formatSample` shows it, and returns the position after it. The digits of whole numbers
 * are written directly: most samples are counts, and making a string of each costs several times as much.
 * Assumption: there is room for `maxSampleBytes`.
 */
export function writeSample(out: DataView, start: number, value: number): number {
  const size = Math.abs(value);
  if (!(size > 0 && size < maxExact && Math.floor(size) === size)) return writeText(out, start, formatSample(value));
  let at = start;
  if (value < 0) out.setUint8(at++, minus);
  if (size < billion) return writeDigits(out, at, size, digitsOf(size));
  const high = Math.floor(size / billion);
  at = writeDigits(out, at, high, digitsOf(high));
  return writeDigits(out, at, size - high * billion, 9);
}

function writeText(out: DataView, start: number, text: string): number {
  for (let i = 0; i < text.length; i++) out.setUint8(start + i, text.charCodeAt(i));
  return start + text.length;
}

/**
 * Writes the given number of digits of a whole number below 2^31, padded with zeros in front, and returns the position
 * after them.
 */
function writeDigits(out: DataView, start: number, value: number, count: number): number {
  const end = start + count;
  let rest = value | 0;
  let at = end;
  for (; at - start >= 2; at -= 2) {
    const hundredth = (rest / 100) | 0;
    out.setUint16(at - 2, pairs[rest - hundredth * 100]!, true);
    rest = hundredth;
  }
  if (at > start) out.setUint8(start, digit + rest);
  return end;
}

function digitsOf(value: number): number {
  if (value < 1e4) return value < 100 ? (value < 10 ? 1 : 2) : value < 1e3 ? 3 : 4;
  if (value < 1e7) return value < 1e5 ? 5 : value < 1e6 ? 6 : 7;
  return value < 1e8 ? 8 : 9;
}

const smallBytes = 4 * 1024;
/** Room for a piece of an answer, and for the bytes that are added before it is found to be full. */
const largeBytes = 80 * 1024;
const beyondAscii = 0x80;

/**
 * UTF-8 text that is assembled byte by byte, and handed out in the buffers that go to the socket: strings would have to
 * be made, joined and encoded once more.
 */
export class Utf8Text {
  #bytes: Buffer = Buffer.allocUnsafeSlow(smallBytes);
  #view = viewOf(this.#bytes);
  #length = 0;
  #taken = 0;

  /** Bytes since the last `take`. */
  get length(): number {
    return this.#length;
  }

  /**
   * Number of calls of `take`: a former value of `length` is a valid position as long as this number stays the same.
   */
  get taken(): number {
    return this.#taken;
  }

  /** Adds text. */
  append(text: string): void {
    this.#reserve(3 * text.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit >= beyondAscii) {
        this.#length = at + bytes.write(text.slice(i), at);
        return;
      }
      bytes[at++] = unit;
    }
    this.#length = at;
  }

  /** Adds a text that is added often and therefore kept in blocks of eight bytes. */
  appendBlocks({ blocks, length }: TextBlocks): void {
    this.#reserve(8 * blocks.length);
    const view = this.#view;
    const at = this.#length;
    for (let i = 0; i < blocks.length; i++) view.setFloat64(at + 8 * i, blocks[i]!, true);
    this.#length = at + length;
  }

  /** Appends again the text that was added between two values of `length`. */
  repeat(from: number, to: number): void {
    this.#reserve(to - from);
    this.#bytes.copyWithin(this.#length, from, to);
    this.#length += to - from;
  }

  /** Adds a number as `formatSample` shows it. */
  appendSample(value: number): void {
    this.#reserve(maxSampleBytes);
    this.#length = writeSample(this.#view, this.#length, value);
  }

  /** Adds the values from `from` to `to`, each after its stamp (the text of its time). */
  appendSamples({ blocks, lengths, stride }: Stamps, values: Float64Array, from: number, to: number): void {
    this.#reserve((to - from) * (8 * stride + maxSampleBytes));
    const view = this.#view;
    let at = this.#length;
    let block = from * stride;
    for (let i = from; i < to; i++) {
      for (let k = 0; k < stride; k++) view.setFloat64(at + 8 * k, blocks[block++]!, true);
      at = writeSample(view, at + lengths[i]!, values[i]!);
    }
    this.#length = at;
  }

  /** Returns all text since the last call. */
  take(): Uint8Array {
    const text = this.#bytes.subarray(0, this.#length);
    this.#bytes = nothing;
    this.#length = 0;
    this.#taken++;
    return text;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const usual = this.#taken > 0 ? largeBytes : Math.min(largeBytes, this.#bytes.length * 4);
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, usual));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
    this.#view = viewOf(larger);
  }
}

const nothing = Buffer.alloc(0);

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

import { formatSample } from './format-value.ts';
import { writeDecimal } from './write-decimal.ts';
import { writeDigits } from './write-digits.ts';

/** No sample's text is longer. Bytes. */
export const maxSampleBytes = 32;

/** Integers up to here are exact; they are taken apart at `billion` so that both halves are small. */
const maxExact = 2 ** 53;
const billion = 1e9;
const minus = 0x2d;

/**
 * Writes a sample's value as `formatSample` shows it, and answers with the place behind it: a large answer is mostly
 * numbers, and making a string of each costs several times what its digits do.
 * Assumption: there is room for `maxSampleBytes`.
 */
export function writeSample(out: DataView, start: number, value: number): number {
  const size = Math.abs(value);
  if (!(size > 0 && size < maxExact && Math.floor(size) === size)) {
    const end = writeDecimal(out, start, value);
    return end === -1 ? writeText(out, start, formatSample(value)) : end;
  }
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

function digitsOf(value: number): number {
  if (value < 1e4) return value < 100 ? (value < 10 ? 1 : 2) : value < 1e3 ? 3 : 4;
  if (value < 1e7) return value < 1e5 ? 5 : value < 1e6 ? 6 : 7;
  return value < 1e8 ? 8 : 9;
}

import { formatSample } from './format-value.ts';

/** No sample's text is longer. Bytes. */
export const maxSampleBytes = 32;

/** Integers up to here are exact; they are taken apart at `billion` so that both halves are small. */
const maxExact = 2 ** 53;
const billion = 1e9;
const digit = 0x30;
const minus = 0x2d;

/**
 * Writes a sample's value as `formatSample` shows it, and answers with the place behind it: a large answer is mostly
 * numbers, and making a string of each costs several times what its digits do.
 * Assumption: there is room for `maxSampleBytes`.
 */
export function writeSample(bytes: Uint8Array, start: number, value: number): number {
  const size = Math.abs(value);
  let at = start;
  if (!(size > 0 && size < maxExact && Math.floor(size) === size)) {
    const text = formatSample(value);
    for (let i = 0; i < text.length; i++) bytes[at++] = text.charCodeAt(i);
    return at;
  }
  if (value < 0) bytes[at++] = minus;
  if (size < billion) return writeDigits(bytes, at, size, digitsOf(size));
  const high = Math.floor(size / billion);
  at = writeDigits(bytes, at, high, digitsOf(high));
  return writeDigits(bytes, at, size - high * billion, 9);
}

function writeDigits(bytes: Uint8Array, start: number, value: number, count: number): number {
  let rest = value | 0;
  for (let at = start + count - 1; at >= start; at--) {
    const tenth = (rest / 10) | 0;
    bytes[at] = digit + rest - tenth * 10;
    rest = tenth;
  }
  return start + count;
}

function digitsOf(value: number): number {
  let count = 1;
  for (let limit = 10; value >= limit; limit *= 10) count++;
  return count;
}

import { formatSample } from './format-value.ts';

/** No sample's text is longer. Bytes. */
export const maxSampleBytes = 32;

/** Integers up to here are exact; they are taken apart at `billion` so that both halves are small. */
const maxExact = 2 ** 53;
const billion = 1e9;
const digit = 0x30;
const minus = 0x2d;
/** The two digits of each number below a hundred, the first in the lower byte. */
const pairs = Uint16Array.from({ length: 100 }, (_, n) => digit + Math.floor(n / 10) + ((digit + (n % 10)) << 8));

/**
 * Writes a sample's value as `formatSample` shows it, and answers with the place behind it: a large answer is mostly
 * numbers, and making a string of each costs several times what its digits do.
 * Assumption: there is room for `maxSampleBytes`.
 */
export function writeSample(out: DataView, start: number, value: number): number {
  const size = Math.abs(value);
  let at = start;
  if (!(size > 0 && size < maxExact && Math.floor(size) === size)) {
    const text = formatSample(value);
    for (let i = 0; i < text.length; i++) out.setUint8(at++, text.charCodeAt(i));
    return at;
  }
  if (value < 0) out.setUint8(at++, minus);
  if (size < billion) return writeDigits(out, at, size, digitsOf(size));
  const high = Math.floor(size / billion);
  at = writeDigits(out, at, high, digitsOf(high));
  return writeDigits(out, at, size - high * billion, 9);
}

/** Writes so many digits of a number below a billion, with zeros in front where it has fewer. */
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

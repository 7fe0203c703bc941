import { compareStrings } from '../../labels.ts';

/** What a comparison costs for each character, at most: texts of which every second chunk is a number. Units: samples. */
export const naturalWork = 7;

/**
 * Whether a text comes before another, different one in natural order: runs of digits compare as numbers, everything
 * else as text.
 */
export function naturallyBefore(a: string, b: string): boolean {
  let at = chunkOfDifference(a, b);
  let other = at;
  let longer = 0;
  while (at < a.length && other < b.length) {
    const [x, y] = [a.slice(at, chunkEnd(a, at)), b.slice(other, chunkEnd(b, other))];
    at += x.length;
    other += y.length;
    if (x === y) continue;
    const [m, n] = [significantDigits(x), significantDigits(y)];
    if (m === null || n === null) return compareStrings(x, y) < 0;
    if (m !== n) return m.length === n.length ? m < n : m.length < n.length;
    longer ||= x.length - y.length;
  }
  // Prometheus has no definite order for texts that differ in leading zeros only: here the longer number is first.
  return at < a.length || other < b.length ? other < b.length : longer > 0;
}

const [zero, nine] = [0x30, 0x39];

function isDigit(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  return unit >= zero && unit <= nine;
}

/** The start of the first chunk that may differ. */
function chunkOfDifference(a: string, b: string): number {
  const shared = Math.min(a.length, b.length);
  let at = 0;
  while (at < shared && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === 0) return 0;
  const digits = isDigit(a, at - 1);
  while (at > 0 && isDigit(a, at - 1) === digits) at--;
  return at;
}

/** The end of the run of digits, or of other characters, that begins here. */
function chunkEnd(text: string, start: number): number {
  const digits = isDigit(text, start);
  let end = start + 1;
  while (end < text.length && isDigit(text, end) === digits) end++;
  return end;
}

const largest = String(2n ** 63n - 1n);

/** The digits of a number, without zeros in front; null for text, and for what fits no signed integer of 64 bits. */
function significantDigits(chunk: string): string | null {
  if (!isDigit(chunk, 0)) return null;
  let zeros = 0;
  while (chunk.charCodeAt(zeros) === zero) zeros++;
  const digits = zeros === 0 ? chunk : chunk.slice(zeros);
  if (digits.length > largest.length) return null;
  return digits.length === largest.length && digits > largest ? null : digits;
}

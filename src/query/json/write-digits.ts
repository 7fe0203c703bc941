const digit = 0x30;
/** The two digits of each number below a hundred, the first one in the lower byte. */
const pairs = Uint16Array.from({ length: 100 }, (_, n) => digit + Math.floor(n / 10) + ((digit + (n % 10)) << 8));

/**
 * Writes the given number of digits of a whole number below 2^31, padded with zeros in front, and returns the position
 * after them.
 */
export function writeDigits(out: DataView, start: number, value: number, count: number): number {
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

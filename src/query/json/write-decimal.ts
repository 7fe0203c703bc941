import { writeDigits } from './write-digits.ts';

/** Numbers in this range are shown without an exponent and need a power of ten that is exact in a double. */
const least = 1e-6;
const most = 1e15;
const pow10 = Float64Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
/** Half the distance between neighbouring doubles from 2^n on, at index n + 20. */
const halves = Float64Array.from({ length: 70 }, (_, i) => 2 ** (i - 20 - 53));
const log10of2 = Math.log10(2);
const zero = 0x30;
const point = 0x2e;
const minus = 0x2d;

/** Splits a double into two of half its bits each, whose products are exact (Veltkamp). */
const splitter = 2 ** 27 + 1;
const upper = pow10.map((power) => splitter * power - (splitter * power - power));
const lower = pow10.map((power, i) => power - upper[i]!);

/** The seventeen digits are `q` and eight more after it. */
const tail = 1e8;
const tailDigits = 8;
const allDigits = 17;
/**
 * Closer than this to the limit of what reads back as the same double, or to the middle between two texts, the result
 * is not decided here.
 */
const unsure = 1e-3;

const double = new Float64Array(1);
const word = new Uint32Array(double.buffer);
/** The byte order of the machine determines which half of a double holds the exponent. */
const highWord = new Uint32Array(Float64Array.of(1).buffer)[1] === 0 ? 0 : 1;
const digits = new DataView(new ArrayBuffer(allDigits));

/**
 * Writes a number that is not whole as the shortest decimal that reads back as it, and returns the position after it.
 * Returns −1, with nothing valid written, for numbers that need another algorithm: a few in a hundred, and very large
 * or small ones. The text is that of `String`, which takes four times as long.
 *
 * The number times a power of ten, with seventeen digits before the point, is computed exactly as the sum of two
 * doubles (Dekker's product). Every decimal closer to it than half the distance of two doubles reads back as the
 * number; of these, the nearest multiple of the largest power of ten is the shortest text.
 * Assumption: there is room for 25 bytes.
 */
export function writeDecimal(out: DataView, start: number, value: number): number {
  const size = Math.abs(value);
  if (!(size >= least && size < most)) return -1;
  double[0] = size;
  const bits = word[highWord]!;
  // Below a power of two, neighbouring doubles are closer together than above it.
  if ((bits & 0xfffff) === 0 && word[1 - highWord] === 0) return -1;
  const binary = (bits >>> 20) - 1023;
  let exponent = Math.floor(binary * log10of2);
  if (exponent >= 0 ? size >= pow10[exponent + 1]! : size * pow10[-exponent - 1]! >= 1) exponent++;
  const scale = allDigits - 1 - exponent;
  if (scale >= pow10.length) return -1;

  const power = pow10[scale]!;
  const high = size * power;
  const a = splitter * size - (splitter * size - size);
  const b = size - a;
  const low = b * lower[scale]! - (high - a * upper[scale]! - b * upper[scale]! - a * lower[scale]!);
  if (high < 1e16 || high >= 1e17) return -1;
  let q = Math.floor(high / tail);
  let rest = high - q * tail;
  if (rest < 0) {
    q--;
    rest += tail;
  }

  const half = halves[binary + 20]! * power;
  let end = -1;
  let dropped = 0;
  for (let drop = 0; drop <= tailDigits; drop++) {
    const unit = pow10[drop]!;
    const nearest = Math.round((rest + low) / unit) * unit;
    const distance = Math.abs(nearest - rest - low);
    if (distance > half + unsure) {
      if (drop === 0) return -1;
      break;
    }
    if (distance > half - unsure || Math.abs(distance - unit / 2) < unsure) return -1;
    end = nearest;
    dropped = drop;
  }
  if (end >= tail) {
    end -= tail;
    q++;
  }
  if (q >= 1e9 || end < 0) return -1;
  let count = allDigits - dropped;
  // No two numbers of nine digits read back as the same double: the remaining digits are zeros of this one.
  if (dropped === tailDigits) for (let left = q; left % 10 === 0; left /= 10) count--;
  writeDigits(digits, 0, q, allDigits - tailDigits);
  writeDigits(digits, allDigits - tailDigits, end, tailDigits);
  return place(out, value < 0, start, exponent, count);
}

/** Writes the first `count` digits and the point after the first of them, shifted by the exponent. */
function place(out: DataView, isNegative: boolean, start: number, exponent: number, count: number): number {
  if (count <= exponent + 1) return -1;
  let at = start;
  if (isNegative) out.setUint8(at++, minus);
  let next = 0;
  if (exponent < 0) out.setUint8(at++, zero);
  while (next <= exponent) out.setUint8(at++, digits.getUint8(next++));
  out.setUint8(at++, point);
  for (let i = -1; i > exponent; i--) out.setUint8(at++, zero);
  while (next < count) out.setUint8(at++, digits.getUint8(next++));
  return at;
}

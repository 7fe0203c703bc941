/** Doubles as whole numbers of the smallest double (2^-1074), so that any sum of them is exact. */

const view = new DataView(new ArrayBuffer(8));
const fractionMask = (1n << 52n) - 1n;

/** A finite double in units of 2^-1074. */
export function toUnits(value: number): bigint {
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const fraction = bits & fractionMask;
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const size = exponent === 0 ? fraction : (fraction | (1n << 52n)) << BigInt(exponent - 1);
  return bits >> 63n === 1n ? -size : size;
}

/** The double nearest to `units` · 2^(−1074 − extraBits), ties to even; ±Infinity beyond the largest double. */
export function fromUnits(units: bigint, extraBits = 0): number {
  const size = units < 0n ? -units : units;
  const bits = size.toString(16).length * 4;
  const magnitude = bits <= 52 && extraBits === 0 ? Number(size) * Number.MIN_VALUE : rounded(size, bits, extraBits);
  return units < 0n ? -magnitude : magnitude;
}

function rounded(size: bigint, bits: number, extraBits: number): number {
  // The 65 to 68 leading bits, and one last bit for all bits that are cut off, are rounded once and correctly.
  const shift = Math.max(0, bits - 68);
  const cut = (size & ((1n << BigInt(shift)) - 1n)) === 0n ? 0n : 1n;
  const lead = Number((size >> BigInt(shift)) | cut);
  const exponent = shift - 1074 - extraBits;
  if (exponent > 1023) return Infinity;
  return exponent < -1000 ? lead * 2 ** (exponent + 200) * 2 ** -200 : lead * 2 ** exponent;
}

/** Doubles whose exact sum is `units` · 2^−1074: as few as possible, largest first. */
export function* toDoubles(units: bigint): Generator<number, void> {
  let left = units;
  while (left !== 0n) {
    const nearest = fromUnits(left);
    const part = Number.isFinite(nearest) ? nearest : Math.sign(nearest) * Number.MAX_VALUE;
    yield part;
    left -= toUnits(part);
  }
}

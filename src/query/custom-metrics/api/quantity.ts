const suffixes = ['m', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const most = 2n ** 63n - 1n;

/**
 * A number as a Kubernetes quantity in its canonical decimal form, rounded to thousandths: `1500m`, `2`, `3k`.
 * A number whose thousandths exceed 64 bits becomes an integer with a suffix. The number must be finite.
 */
export function quantity(value: number): string {
  const sign = value < 0 ? '-' : '';
  const size = Math.abs(value);
  let [amount, unit] =
    size * 1000 < Number(most) ? [BigInt(Math.round(size * 1000)), 0] : [BigInt(Math.round(size)), 1];
  while (amount > most && unit < suffixes.length - 1) {
    amount = (amount + 500n) / 1000n;
    unit++;
  }
  if (amount > most) amount = most;
  if (amount === 0n) return '0';
  while (amount % 1000n === 0n && unit < suffixes.length - 1) {
    amount /= 1000n;
    unit++;
  }
  return `${sign}${amount}${suffixes[unit]}`;
}

/** Arithmetic where JavaScript and Go differ. */

/** x^y as Go computes it: 1^y is 1 and (−1)^±Inf is 1, where JS gives NaN. */
export function power(x: number, y: number): number {
  if (x === 1 || (x === -1 && (y === Infinity || y === -Infinity))) return 1;
  return x ** y;
}

/** The larger of two numbers; +Inf wins over NaN, NaN over the rest. */
export function goMax(a: number, b: number): number {
  return a === Infinity || b === Infinity ? Infinity : Math.max(a, b);
}

/** The smaller of two numbers; −Inf wins over NaN, NaN over the rest. */
export function goMin(a: number, b: number): number {
  return a === -Infinity || b === -Infinity ? -Infinity : Math.min(a, b);
}

/** Sorts numbers in place, NaN first, as the peer orders them for quantiles. */
export function sortNumbers(values: Float64Array): Float64Array {
  values.sort();
  // Typed arrays put NaN last; the peer puts it first.
  let nans = 0;
  while (nans < values.length && Number.isNaN(values[values.length - 1 - nans]!)) nans++;
  if (nans > 0) {
    values.copyWithin(nans, 0, values.length - nans);
    values.fill(NaN, 0, nans);
  }
  return values;
}

/** The q-quantile of values, which are sorted in place; weighted mean of the two neighbours. */
export function quantile(q: number, values: Float64Array): number {
  const n = values.length;
  if (n === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  sortNumbers(values);
  const rank = q * (n - 1);
  const lower = Math.max(0, Math.floor(rank));
  const upper = Math.min(n - 1, lower + 1);
  const weight = rank - Math.floor(rank);
  return values[lower]! * (1 - weight) + values[upper]! * weight;
}

/** Equal within a relative tolerance; used where noise of the last digits must not count. */
export function almostEqual(a: number, b: number, epsilon: number): boolean {
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  if (a === b) return true;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  const smallest = 2.2250738585072014e-308;
  if (a === 0 || b === 0 || sum < smallest) return difference < epsilon * smallest;
  return difference / Math.min(sum, Number.MAX_VALUE) < epsilon;
}

/**
 * A sum with Neumaier's compensation: error far below one unit in the last place. The compensation is dropped when the
 * sum becomes infinite.
 */
export class CompensatedSum {
  sum = 0;
  compensation = 0;

  constructor(sum = 0) {
    this.sum = sum;
  }

  add(value: number): void {
    const total = this.sum + value;
    if (total === Infinity || total === -Infinity) this.compensation = 0;
    else if (Math.abs(this.sum) >= Math.abs(value)) this.compensation += this.sum - total + value;
    else this.compensation += value - total + this.sum;
    this.sum = total;
  }
}

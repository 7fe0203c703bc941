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

/** Sorts numbers in place, NaN first, as Prometheus does for quantiles. */
export function sortNumbers(values: Float64Array): Float64Array {
  values.sort();
  // Typed arrays put NaN last; Prometheus puts it first.
  let nans = 0;
  while (nans < values.length && Number.isNaN(values[values.length - 1 - nans]!)) nans++;
  if (nans > 0) {
    values.copyWithin(nans, 0, values.length - nans);
    values.fill(NaN, 0, nans);
  }
  return values;
}

/** The q-quantile of values, which are reordered in place: the weighted mean of the two values around its rank. */
export function quantile(q: number, values: Float64Array): number {
  if (!(q >= 0 && q <= 1) || values.length === 0) return quantileOfSorted(q, values);
  if (values.length > sortedWhole) selectNeighbours(Math.floor(q * (values.length - 1)), values);
  else sortNumbers(values);
  return quantileOfSorted(q, values);
}

/** Above this number of values, a quantile selects the two values around its rank instead of sorting. */
const sortedWhole = 10_000;

/** Moves the values of a rank and of the next rank to their sorted positions. */
function selectNeighbours(rank: number, values: Float64Array): void {
  let nans = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value === value) continue;
    values[i] = values[nans]!;
    values[nans++] = NaN;
  }
  if (rank + 1 < nans) return;
  const upper = Math.min(rank + 1, values.length - 1);
  select(Math.max(rank, nans), values, nans);
  // No later value is smaller than the value at the rank, so the smallest later value belongs at the next rank.
  let least = upper;
  for (let i = upper + 1; i < values.length; i++) if (below(values[i]!, values[least]!)) least = i;
  const next = values[least]!;
  values[least] = values[upper]!;
  values[upper] = next;
}

/** Whether `a` sorts before `b`, with −0 before 0 as in typed arrays. Precondition: neither is NaN. */
function below(a: number, b: number): boolean {
  return a < b || (a === 0 && b === 0 && Object.is(a, -0) && Object.is(b, 0));
}

/**
 * Quickselect from index `from` on. The pivots are pseudo-random, so that sorted values and other regular orders are
 * not slow. They are known in advance, though, so an order of values can make each of them a bad pivot. Once the passes
 * have looked at eight times as many values as there are (two to four times is usual), the remaining values are sorted.
 */
function select(rank: number, values: Float64Array, from: number): void {
  let low = from;
  let high = values.length - 1;
  let seed = 0x2545f491;
  let left = 8 * (high - low + 1);
  while (low < high) {
    left -= high - low + 1;
    if (left < 0) return void values.subarray(low, high + 1).sort();
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    const pivot = values[low + (seed % (high - low + 1))]!;
    let [i, j] = [low, high];
    while (i <= j) {
      while (below(values[i]!, pivot)) i++;
      while (below(pivot, values[j]!)) j--;
      if (i > j) break;
      const value = values[i]!;
      values[i++] = values[j]!;
      values[j--] = value;
    }
    if (rank <= j) high = j;
    else if (rank >= i) low = i;
    else return;
  }
}

/** The q-quantile of values that `sortNumbers` has sorted. */
export function quantileOfSorted(q: number, values: Float64Array): number {
  const n = values.length;
  if (n === 0 || Number.isNaN(q)) return NaN;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
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

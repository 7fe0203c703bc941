import { almostEqual } from '../../numbers.ts';

/** Smaller relative differences between neighbouring buckets are floating-point noise, not lost monotonicity. */
const tolerance = 1e-12;

/** Cumulative buckets of a classic histogram at one step: `counts[i]` observations at or below `bounds[i]`. */
export interface ClassicBuckets {
  readonly bounds: Float64Array;
  readonly counts: Float64Array;
  /** How many of the entries are in use. */
  length: number;
}

/** The extent of the corrections that made buckets monotonic: bounds and the largest difference. */
export interface Fixed {
  minBound: number;
  maxBound: number;
  maxDiff: number;
}

/** Joins entries with equal bounds (sorted input), adding their counts. */
export function coalesce(buckets: ClassicBuckets): void {
  const { bounds, counts } = buckets;
  let last = 0;
  for (let i = 1; i < buckets.length; i++) {
    if (bounds[i] === bounds[last]) counts[last]! += counts[i]!;
    else {
      last++;
      bounds[last] = bounds[i]!;
      counts[last] = counts[i]!;
    }
  }
  buckets.length = last + 1;
}

/**
 * Levels differences that are only noise, and raises every count that is below its predecessor. Returns the
 * corrections, null when there were none.
 */
function makeMonotonic({ bounds, counts, length }: ClassicBuckets): Fixed | null {
  let fixed: Fixed | null = null;
  let previous = counts[0]!;
  for (let i = 1; i < length; i++) {
    const current = counts[i]!;
    if (current === previous) continue;
    if (almostEqual(previous, current, tolerance)) {
      counts[i] = previous;
    } else if (current < previous) {
      counts[i] = previous;
      fixed ??= { minBound: Infinity, maxBound: -Infinity, maxDiff: 0 };
      fixed.minBound = Math.min(fixed.minBound, bounds[i]!);
      fixed.maxBound = Math.max(fixed.maxBound, bounds[i]!);
      fixed.maxDiff = Math.max(fixed.maxDiff, previous - current);
    } else previous = current;
  }
  return fixed;
}

/**
 * The q-quantile of classic buckets, sorted by bound; the arrays are changed.
 * Interpolates linearly inside a bucket. The first bucket begins at 0; when its bound is ≤ 0, the result is that bound.
 * A rank in the +Inf bucket gives the highest finite bound. NaN without a +Inf bucket, with fewer than two buckets, or
 * without observations.
 */
export function bucketQuantile(q: number, buckets: ClassicBuckets): { value: number; fixed: Fixed | null } {
  const result = (value: number, fixed: Fixed | null = null): { value: number; fixed: Fixed | null } => ({
    value,
    fixed,
  });
  if (Number.isNaN(q)) return result(NaN);
  if (q < 0) return result(-Infinity);
  if (q > 1) return result(Infinity);
  const { bounds, counts } = buckets;
  if (bounds[buckets.length - 1] !== Infinity) return result(NaN);
  coalesce(buckets);
  const fixed = makeMonotonic(buckets);
  const last = buckets.length - 1;
  if (last < 1 || counts[last] === 0) return result(NaN, fixed);
  let rank = q * counts[last]!;
  let b = 0;
  let high = last;
  while (b < high) {
    const middle = (b + high) >>> 1;
    if (counts[middle]! >= rank) high = middle;
    else b = middle + 1;
  }
  if (b === last) return result(bounds[last - 1]!, fixed);
  if (b === 0 && bounds[0]! <= 0) return result(bounds[0]!, fixed);
  const end = bounds[b]!;
  if (b === 0) return result(end * (rank / counts[0]!), fixed);
  const start = bounds[b - 1]!;
  const below = counts[b - 1]!;
  rank -= below;
  return result(start + (end - start) * (rank / (counts[b]! - below)), fixed);
}

/** The share of observations between two bounds, interpolated linearly inside a bucket. */
export function bucketFraction(lower: number, upper: number, buckets: ClassicBuckets): number {
  const { bounds, counts } = buckets;
  if (bounds[buckets.length - 1] !== Infinity) return NaN;
  coalesce(buckets);
  const total = counts[buckets.length - 1]!;
  if (total === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return NaN;
  if (lower >= upper) return 0;
  const rankOf = (limit: number): number => {
    let rank = 0;
    let start = bounds[0]! <= 0 ? -Infinity : 0;
    for (let i = 0; i < buckets.length; i++) {
      if (i > 0) start = bounds[i - 1]!;
      const end = bounds[i]!;
      const count = counts[i]!;
      if (start >= limit) return rank;
      if (end > limit) return start === -Infinity ? count : rank + ((count - rank) * (limit - start)) / (end - start);
      rank = count;
    }
    return total;
  };
  return (Math.min(rankOf(upper), total) - Math.min(rankOf(lower), total)) / total;
}

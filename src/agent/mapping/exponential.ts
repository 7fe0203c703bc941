import type { ExponentialBuckets, ExponentialPoint } from '../otlp/model.ts';

/**
 * An exponential histogram point as cumulative counts at explicit bounds.
 *
 * An exponential bucket is counted at a bound only when the whole bucket lies at or below the bound, so each result is
 * a lower bound of the true count: it omits at most the observations of the one bucket that straddles the bound, whose
 * upper edge is 2^(2^-scale) times its lower one (scale 5: 2.2 %, scale 3: 9 %, scale 0: 100 %). `_sum`, `_count` and
 * the `+Inf` bucket stay exact. When a sender lowers its scale, buckets merge and a result could fall; the caller keeps
 * the larger of the old and the new one, which is still a lower bound.
 */
export function countsAtBounds(point: ExponentialPoint, bounds: readonly number[]): number[] {
  const result = new Array<number>(bounds.length).fill(0);
  const place = (upper: number, count: number): void => {
    if (count <= 0) return;
    const at = firstAtLeast(bounds, upper);
    if (at < bounds.length) result[at]! += count;
  };
  const width = 2 ** -point.scale;
  eachBucket(point.negative, (index, count) => place(-(2 ** (index * width)), count));
  place(point.zeroThreshold, point.zeroCount);
  eachBucket(point.positive, (index, count) => place(2 ** ((index + 1) * width), count));
  for (let i = 1; i < result.length; i++) result[i]! += result[i - 1]!;
  return result;
}

function eachBucket(buckets: ExponentialBuckets, fn: (index: number, count: number) => void): void {
  for (let i = 0; i < buckets.counts.length; i++) {
    const count = buckets.counts[i]!;
    if (count > 0) fn(buckets.offset + i, count);
  }
}

function firstAtLeast(bounds: readonly number[], value: number): number {
  let low = 0;
  let high = bounds.length;
  while (low < high) {
    const mid = (low + high) >>> 1;
    if (bounds[mid]! < value) low = mid + 1;
    else high = mid;
  }
  return low;
}

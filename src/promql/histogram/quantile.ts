import { allBuckets, usesCustomBuckets, type BoundedBucket } from './buckets.ts';
import type { FloatHistogram } from './float-histogram.ts';

/** Receives the text of an info about the result. */
export type Tell = (message: string) => void;

/**
 * The q-quantile of a native histogram: linear inside custom buckets and the zero bucket, exponential inside
 * exponential ones. NaN without observations; NaN observations rank above everything.
 */
export function histogramQuantile(q: number, histogram: FloatHistogram, tell: Tell): number {
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  if (histogram.count === 0 || Number.isNaN(q)) return NaN;
  const custom = usesCustomBuckets(histogram);
  const hasNaN = Number.isNaN(histogram.sum);
  const forward = hasNaN || q < 0.5;
  const buckets = allBuckets(histogram);
  if (!forward) buckets.reverse();
  let rank = (forward ? q : 1 - q) * histogram.count;
  let count = 0;
  let at = 0;
  let bucket: BoundedBucket = { lower: 0, upper: 0, count: 0 };
  for (; at < buckets.length; at++) {
    const candidate = buckets[at]!;
    bucket = candidate;
    if (candidate.count === 0) continue;
    count += candidate.count;
    if (count >= rank) break;
  }
  let { lower, upper } = bucket;
  if (!custom && lower < 0 && upper > 0) ({ lower, upper } = zeroBounds(histogram, bucket));
  else if (custom) {
    if (lower === -Infinity) {
      if (upper <= 0) return upper;
      lower = 0;
    } else if (upper === Infinity) return lower;
  }
  if (count > histogram.count) count = histogram.count;
  if (count < rank) {
    if (!hasNaN) return upper;
    tell('input to histogram_quantile has NaN observations, result is NaN');
    return NaN;
  }
  rank = forward ? rank - (count - bucket.count) : count - rank;
  if (hasNaN) {
    const rest = buckets.slice(at + 1).reduce((total, other) => total + other.count, 0);
    if (count + rest < histogram.count) {
      tell('input to histogram_quantile has NaN observations, result is skewed higher');
    }
  }
  const fraction = rank / bucket.count;
  if (custom || (lower <= 0 && upper >= 0)) return lower + (upper - lower) * fraction;
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  if (lower > 0) return 2 ** (logLower + (logUpper - logLower) * fraction);
  return -(2 ** (logUpper + (logLower - logUpper) * (1 - fraction)));
}

/** The bounds of the zero bucket; it ends at zero when all observations lie on one side. */
function zeroBounds(histogram: FloatHistogram, { lower, upper }: BoundedBucket): { lower: number; upper: number } {
  const hasPositive = histogram.positive.indexes.length > 0;
  const hasNegative = histogram.negative.indexes.length > 0;
  return { lower: hasPositive && !hasNegative ? 0 : lower, upper: hasNegative && !hasPositive ? 0 : upper };
}

/** The fraction of a bucket at or below `v`, which lies strictly inside the bucket. */
export function fractionBelow({ lower, upper }: BoundedBucket, v: number, linear: boolean): number {
  if (linear) return (v - lower) / (upper - lower);
  const logLower = Math.log2(Math.abs(lower));
  const logUpper = Math.log2(Math.abs(upper));
  const logV = Math.log2(Math.abs(v));
  return v > 0 ? (logV - logLower) / (logUpper - logLower) : 1 - (logV - logUpper) / (logLower - logUpper);
}

/** The share of observations between two bounds. NaN observations belong to no bucket. */
export function histogramFraction(lower: number, upper: number, histogram: FloatHistogram, tell: Tell): number {
  if (histogram.count === 0 || Number.isNaN(lower) || Number.isNaN(upper)) return NaN;
  if (lower >= upper) return 0;
  const buckets = allBuckets(histogram);
  let total = histogram.count;
  if (Number.isNaN(histogram.sum)) {
    total = buckets.reduce((sum, { count }) => sum + count, 0);
    if (total < histogram.count) {
      tell('input to histogram_fraction has NaN observations, which are excluded from all fractions');
    }
  }
  const below = (limit: number): number => Math.min(rankBelow(histogram, buckets, limit) ?? total, total);
  return (below(upper) - below(lower)) / histogram.count;
}

/** The number of observations below a limit; null when that is all of them. */
function rankBelow(histogram: FloatHistogram, buckets: readonly BoundedBucket[], limit: number): number | null {
  const custom = usesCustomBuckets(histogram);
  let rank = 0;
  for (const bucket of buckets) {
    const isZero = bucket.lower <= 0 && bucket.upper >= 0;
    const bounds = isZero ? zeroBounds(histogram, bucket) : bucket;
    if (bounds.lower >= limit) return rank;
    if (bounds.upper > limit) {
      if (bounds.lower === -Infinity) return bucket.count;
      return rank + bucket.count * fractionBelow({ ...bounds, count: bucket.count }, limit, custom || isZero);
    }
    rank += bucket.count;
  }
  return null;
}

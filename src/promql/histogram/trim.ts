import { compactHistogram } from './arithmetic.ts';
import { negativeBuckets, positiveBuckets, usesCustomBuckets, type BoundedBucket } from './buckets.ts';
import type { Buckets, FloatHistogram } from './float-histogram.ts';
import { fractionBelow } from './quantile.ts';

/** What trimming leaves of a bucket: its count, and the assumed value of its observations. */
interface Kept {
  readonly count: number;
  readonly middle: number;
}

/**
 * The histogram without the observations above (`</`) or below (`>/`) a limit. Buckets that contain the limit are
 * interpolated; count and sum are then estimated again from the buckets.
 */
export function trimHistogram(histogram: FloatHistogram, limit: number, keepsBelow: boolean): FloatHistogram {
  const linear = usesCustomBuckets(histogram);
  let count = 0;
  let sum = 0;
  let changed = false;
  const note = (before: number, { count: kept, middle }: Kept): number => {
    count += kept;
    sum += middle * kept;
    if (before !== kept) changed = true;
    return kept;
  };
  const side = (buckets: Buckets, bounded: readonly BoundedBucket[], positive: boolean): Buckets => ({
    indexes: buckets.indexes,
    counts: bounded.map((bucket) =>
      bucket.count === 0 ? 0 : note(bucket.count, keep(bucket, limit, keepsBelow, positive, linear)),
    ),
  });
  const positive = side(histogram.positive, positiveBuckets(histogram), true);
  const negative = side(histogram.negative, negativeBuckets(histogram), false);
  const zeroCount = histogram.zeroCount > 0 ? note(histogram.zeroCount, keepZero(histogram, limit, keepsBelow)) : 0;
  return changed ? compactHistogram({ ...histogram, positive, negative, zeroCount, count, sum }) : histogram;
}

function keep(bucket: BoundedBucket, limit: number, keepsBelow: boolean, positive: boolean, linear: boolean): Kept {
  const { lower, upper, count } = bucket;
  if (keepsBelow ? upper <= limit : lower >= limit) return { count, middle: middleOf(lower, upper, positive, linear) };
  if (keepsBelow ? lower >= limit : upper <= limit) return { count: 0, middle: 0 };
  if (lower === -Infinity || upper === Infinity) return keepOpen(bucket, limit, keepsBelow);
  const below = limit <= lower ? 0 : limit >= upper ? count : count * fractionBelow(bucket, limit, linear);
  return keepsBelow
    ? { count: below, middle: middleOf(lower, limit, positive, linear) }
    : { count: count - below, middle: middleOf(limit, upper, positive, linear) };
}

/**
 * A bucket without a lower or upper bound. It is interpolated where 0 can replace −Inf. Otherwise it is kept as a whole
 * when its open end lies on the kept side, else removed as a whole. A bucket from −Inf is kept as a whole only if its
 * upper bound is at most 0.
 */
function keepOpen({ lower, upper, count }: BoundedBucket, limit: number, keepsBelow: boolean): Kept {
  const finite = (value: number): number => (Math.abs(value) === Infinity ? 0 : value);
  if (lower === -Infinity) {
    if (keepsBelow) {
      if (limit >= upper) return { count, middle: 0 };
      if (limit > 0 && upper > 0 && upper !== Infinity) return { count: (count * limit) / upper, middle: limit / 2 };
      return upper <= 0 ? { count, middle: limit } : { count: 0, middle: finite(upper) };
    }
    if (limit <= lower) return { count, middle: 0 };
    if (limit >= 0 && upper > limit && upper !== Infinity) {
      return { count: count * (1 - limit / upper), middle: (limit + upper) / 2 };
    }
    return { count: 0, middle: finite(upper) };
  }
  return !keepsBelow && limit >= lower ? { count, middle: limit } : { count: 0, middle: finite(lower) };
}

function keepZero(histogram: FloatHistogram, limit: number, keepsBelow: boolean): Kept {
  const { zeroThreshold, zeroCount, positive, negative } = histogram;
  const hasPositive = positive.counts.some((count) => count !== 0);
  const hasNegative = negative.counts.some((count) => count !== 0);
  const lower = hasPositive && !hasNegative ? 0 : -zeroThreshold;
  const upper = hasNegative && !hasPositive ? 0 : zeroThreshold;
  const all = { count: zeroCount, middle: (lower + upper) / 2 };
  const none = { count: 0, middle: 0 };
  if (limit <= lower) return keepsBelow ? none : all;
  if (limit >= upper) return keepsBelow ? all : none;
  return keepsBelow
    ? { count: (zeroCount * (limit - lower)) / (upper - lower), middle: (lower + limit) / 2 }
    : { count: (zeroCount * (upper - limit)) / (upper - lower), middle: (limit + upper) / 2 };
}

/** The middle of the rest of a bucket: geometric for exponential ones. */
function middleOf(lower: number, upper: number, positive: boolean, linear: boolean): number {
  if (Math.abs(lower) === Infinity) {
    if (Math.abs(upper) === Infinity) return 0;
    return upper > 0 ? upper / 2 : upper;
  }
  if (Math.abs(upper) === Infinity) return lower;
  if (linear) return (lower + upper) / 2;
  const middle = Math.sqrt(Math.abs(lower * upper));
  return positive ? middle : -middle;
}

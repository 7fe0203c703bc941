import { exponentialBound, negativeBuckets, positiveBuckets } from './buckets.ts';
import type { Buckets, FloatHistogram } from './float-histogram.ts';

/**
 * The histogram with a zero bucket at least as wide as `threshold`: buckets within it are added to it. When the
 * threshold lies inside a populated bucket, the zero bucket is widened to that bucket's far bound.
 */
export function widenZeroBucket(histogram: FloatHistogram, threshold: number): FloatHistogram {
  if (threshold <= histogram.zeroThreshold) return histogram;
  let limit = threshold;
  for (;;) {
    const cut = [...positiveBuckets(histogram), ...negativeBuckets(histogram)].find(({ lower, upper, count }) => {
      const [near, far] = lower >= 0 ? [lower, upper] : [-upper, -lower];
      return count !== 0 && near < limit && far > limit;
    });
    if (cut === undefined) break;
    limit = cut.lower >= 0 ? cut.upper : -cut.lower;
  }
  let zeroCount = histogram.zeroCount;
  const trim = (buckets: Buckets): Buckets => {
    const kept: number[] = [];
    buckets.indexes.forEach((index, i) => {
      if (exponentialBound(index, histogram.schema) <= limit) zeroCount += buckets.counts[i]!;
      else kept.push(i);
    });
    return { indexes: kept.map((i) => buckets.indexes[i]!), counts: kept.map((i) => buckets.counts[i]!) };
  };
  const positive = trim(histogram.positive);
  const negative = trim(histogram.negative);
  return { ...histogram, zeroThreshold: limit, zeroCount, positive, negative };
}

/** Both histograms with one zero bucket that cuts no populated bucket of either. */
export function alignZeroBuckets(a: FloatHistogram, b: FloatHistogram): [FloatHistogram, FloatHistogram] {
  let [left, right] = [a, b];
  while (left.zeroThreshold !== right.zeroThreshold) {
    left = widenZeroBucket(left, right.zeroThreshold);
    right = widenZeroBucket(right, left.zeroThreshold);
  }
  return [left, right];
}

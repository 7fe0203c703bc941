import type { FloatHistogram } from '../histogram/float-histogram.ts';

/** Pacing counts work in samples: an operation on a native histogram counts as this many, and as many per bucket. */
const bucketWork = 100;
/** A custom bound is only compared or copied. */
const boundsPerBucket = 8;

/** The work of an operation on a native histogram, such as adding it to another; none for null. */
export function histogramWork(histogram: FloatHistogram | null): number {
  if (histogram === null) return 0;
  const { positive, negative, customValues } = histogram;
  const buckets = positive.counts.length + negative.counts.length + customValues.length / boundsPerBucket;
  return bucketWork * (1 + buckets);
}

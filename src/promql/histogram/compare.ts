import { sameNumbers, usesCustomBuckets, withoutEmpty } from './buckets.ts';
import type { Buckets, FloatHistogram } from './float-histogram.ts';

/** True when two histograms hold the same data in the same layout; counter-reset hints do not count. */
export function histogramsEqual(a: FloatHistogram, b: FloatHistogram): boolean {
  if (a === b) return true;
  if (a.schema !== b.schema || !Object.is(a.count, b.count) || !Object.is(a.sum, b.sum)) return false;
  if (usesCustomBuckets(a) && !sameNumbers(a.customValues, b.customValues)) return false;
  if (a.zeroThreshold !== b.zeroThreshold || !Object.is(a.zeroCount, b.zeroCount)) return false;
  return bucketsEqual(a.positive, b.positive) && bucketsEqual(a.negative, b.negative);
}

function bucketsEqual(a: Buckets, b: Buckets): boolean {
  const [x, y] = [withoutEmpty(a), withoutEmpty(b)];
  return sameNumbers(x.indexes, y.indexes) && sameNumbers(x.counts, y.counts);
}

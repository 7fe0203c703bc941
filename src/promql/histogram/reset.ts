import { reduceSchema } from './arithmetic.ts';
import { commonBounds, onBounds, sameNumbers, usesCustomBuckets } from './buckets.ts';
import type { Buckets, FloatHistogram } from './float-histogram.ts';
import { widenZeroBucket } from './zero-bucket.ts';

/**
 * Whether a histogram's counter was reset since the previous histogram: its hint says so, or any count fell, or the
 * layout became finer. A hint of "not reset" is trusted.
 */
export function detectReset(current: FloatHistogram, previous: FloatHistogram): boolean {
  if (current.counterReset === 'reset') return true;
  if (current.counterReset === 'not_reset') return false;
  if (current.count < previous.count) return true;
  if (usesCustomBuckets(current)) {
    if (!usesCustomBuckets(previous)) return true;
    if (!sameNumbers(current.customValues, previous.customValues)) return customReset(current, previous);
  }
  if (current.schema > previous.schema || current.zeroThreshold < previous.zeroThreshold) return true;
  const widened = widenZeroBucket(previous, current.zeroThreshold);
  if (widened.zeroThreshold !== current.zeroThreshold || current.zeroCount < widened.zeroCount) return true;
  const before = reduceSchema(widened, current.schema);
  return anyFell(current.positive, before.positive) || anyFell(current.negative, before.negative);
}

/** True when a bucket that was populated is missing now, or has a lower count. */
function anyFell(current: Buckets, previous: Buckets): boolean {
  const { indexes, counts } = current;
  let at = 0;
  return previous.indexes.some((index, i) => {
    while (at < indexes.length && indexes[at]! < index) at++;
    const isMissing = at === indexes.length || indexes[at]! > index;
    return isMissing ? previous.counts[i] !== 0 : counts[at]! < previous.counts[i]!;
  });
}

/** Compares histograms with different custom bounds on the bounds that both have. */
function customReset(current: FloatHistogram, previous: FloatHistogram): boolean {
  const bounds = commonBounds(current.customValues, previous.customValues);
  const now = onBounds(current.positive, current.customValues, bounds);
  return anyFell(now, onBounds(previous.positive, previous.customValues, bounds));
}

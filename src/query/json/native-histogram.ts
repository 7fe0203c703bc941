import type { FloatHistogram } from '../../promql/index.ts';
import { spansOf } from '../../tsdb/index.ts';
import type { NativeHistogram } from '../../tsdb/index.ts';

/** A histogram as chunks hold it, for consumers that read chunks. */
export function toNativeHistogram(h: FloatHistogram): NativeHistogram {
  return {
    kind: 'float',
    counterReset: h.counterReset,
    schema: h.schema,
    zeroThreshold: h.zeroThreshold,
    zeroCount: h.zeroCount,
    count: h.count,
    sum: h.sum,
    positiveSpans: spansOf(h.positive.indexes),
    negativeSpans: spansOf(h.negative.indexes),
    positive: h.positive.counts,
    negative: h.negative.counts,
    customValues: h.customValues,
  };
}

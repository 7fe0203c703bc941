import type { Buckets, FloatHistogram } from '../../promql/index.ts';
import { bucketIndexes } from '../../tsdb/index.ts';
import type { NativeHistogram, Span } from '../../tsdb/index.ts';

/** A stored histogram as the engine reckons with it: float counts, buckets by index, empty ones left out. */
export function toFloatHistogram(h: NativeHistogram): FloatHistogram {
  return {
    schema: h.schema,
    zeroThreshold: h.zeroThreshold,
    zeroCount: h.zeroCount,
    count: h.count,
    sum: h.sum,
    positive: buckets(h.positiveSpans, h.positive),
    negative: buckets(h.negativeSpans, h.negative),
    customValues: h.customValues,
    counterReset: h.counterReset,
  };
}

function buckets(spans: readonly Span[], all: readonly number[]): Buckets {
  const indexes: number[] = [];
  const counts: number[] = [];
  bucketIndexes(spans).forEach((index, i) => {
    if (all[i] === 0) return;
    indexes.push(index);
    counts.push(all[i]!);
  });
  return { indexes, counts };
}

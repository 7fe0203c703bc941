import type { Buckets, CounterResetHint, FloatHistogram } from './float-histogram.ts';

/** A histogram as stores and protocols have it: runs of neighbouring buckets, empty ones among them. */
export interface SpannedHistogram {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  readonly positiveSpans: readonly BucketSpan[];
  readonly positive: readonly number[];
  readonly negativeSpans: readonly BucketSpan[];
  readonly negative: readonly number[];
  readonly customValues: readonly number[];
  readonly counterReset: CounterResetHint;
}

/** `offset` buckets after the end of the span before (for the first: its index), `length` buckets. */
export interface BucketSpan {
  readonly offset: number;
  readonly length: number;
}

/**
 * A stored histogram as the engine reckons with it: float counts, buckets by index. Empty buckets stay: that there are
 * any below zero decides where the zero bucket begins.
 */
export function fromSpans(h: SpannedHistogram): FloatHistogram {
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

function buckets(spans: readonly BucketSpan[], all: readonly number[]): Buckets {
  const indexes: number[] = [];
  let index = 0;
  for (const { offset, length } of spans) {
    index += offset;
    for (let i = 0; i < length; i++) indexes.push(index++);
  }
  return { indexes, counts: all };
}

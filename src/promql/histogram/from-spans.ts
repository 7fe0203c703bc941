import type { Buckets, CounterResetHint, FloatHistogram } from './float-histogram.ts';

/** A histogram in the form of stores and protocols: runs of neighbouring buckets, empty ones included. */
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

/** A run of `length` buckets, `offset` buckets after the previous run. The first run begins at the index `offset`. */
export interface BucketSpan {
  readonly offset: number;
  readonly length: number;
}

/**
 * Converts a stored histogram to the engine's form: float counts, buckets by index. Empty buckets are kept: the start
 * of the zero bucket depends on whether there are any buckets below zero.
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

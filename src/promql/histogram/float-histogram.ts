/** Whether the counter was reset since its previous histogram, as far as that is known; `gauge`: it is no counter. */
export type CounterResetHint = 'unknown' | 'reset' | 'not_reset' | 'gauge';

/**
 * Sparse buckets: `counts[i]` observations in the bucket with index `indexes[i]`; indexes strictly rising. Counts may
 * be zero; `compactHistogram` removes such buckets.
 */
export interface Buckets {
  readonly indexes: readonly number[];
  readonly counts: readonly number[];
}

/**
 * A native histogram with float counts.
 * Shape: `schema` −4…8 is exponential, −53 has custom bounds (`customValues`, upper bounds without +Inf; bucket i lies
 * between customValues[i−1] and customValues[i]; no zero bucket and no negative buckets).
 * Source: the native histogram specification of Prometheus.
 */
export interface FloatHistogram {
  readonly schema: number;
  readonly zeroThreshold: number;
  readonly zeroCount: number;
  readonly count: number;
  readonly sum: number;
  readonly positive: Buckets;
  readonly negative: Buckets;
  readonly customValues: readonly number[];
  readonly counterReset: CounterResetHint;
}

import type { FloatHistogram } from '../histogram/float-histogram.ts';
import type { Budget } from './budget.ts';
import { histogramWeight, type ColumnBuilder } from './columns.ts';

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

/**
 * Takes the memory of native histograms from the budget as they are computed, because a single series of them may need
 * more than there is. `release` gives it back; then the caller charges what there is.
 */
export class NewHistograms {
  readonly #budget: Budget;
  #weight = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  /** Sets a step of a series. Errors: `execution` above the limit of the budget. */
  set(series: ColumnBuilder, step: number, histogram: FloatHistogram): void {
    this.hold(histogram);
    series.setHistogram(step, histogram);
  }

  /** Errors: `execution` above the limit of the budget. */
  hold(histogram: FloatHistogram): void {
    const weight = histogramWeight(histogram);
    this.#budget.hold(weight);
    this.#weight += weight;
  }

  release(): void {
    if (this.#weight === 0) return;
    this.#budget.release(this.#weight);
    this.#weight = 0;
  }
}

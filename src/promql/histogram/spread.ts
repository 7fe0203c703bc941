import { CompensatedSum } from '../numbers.ts';
import { allBuckets, usesCustomBuckets } from './buckets.ts';
import type { FloatHistogram } from './float-histogram.ts';

/** The variance of a native histogram's observations, each assumed to lie in the middle of its bucket. */
export function histogramVariance(histogram: FloatHistogram): number {
  const mean = histogram.sum / histogram.count;
  const squares = new CompensatedSum();
  for (const { lower, upper, count } of allBuckets(histogram)) {
    if (count === 0) continue;
    let value: number;
    if (usesCustomBuckets(histogram)) value = (lower + upper) / 2;
    else if (lower <= 0 && upper >= 0) value = 0;
    else value = Math.sqrt(upper * lower) * (upper < 0 ? -1 : 1);
    const delta = value - mean;
    squares.add(count * delta * delta);
  }
  return (squares.sum + squares.compensation) / histogram.count;
}

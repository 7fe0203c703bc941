import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { histogramVariance } from '../../histogram/spread.ts';

/** Functions that read one number out of a native histogram. */
export const histogramValues: ReadonlyMap<string, (histogram: FloatHistogram) => number> = new Map([
  ['histogram_avg', (h: FloatHistogram): number => h.sum / h.count],
  ['histogram_count', (h: FloatHistogram): number => h.count],
  ['histogram_stddev', (h: FloatHistogram): number => Math.sqrt(histogramVariance(h))],
  ['histogram_stdvar', histogramVariance],
  ['histogram_sum', (h: FloatHistogram): number => h.sum],
]);

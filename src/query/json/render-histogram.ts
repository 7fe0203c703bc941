import { histogramBuckets } from '../../promql/index.ts';
import type { FloatHistogram } from '../../promql/index.ts';
import { formatSample } from './format-value.ts';

/**
 * A native histogram as the API writes it: count, sum and the populated buckets as `[boundaries, lower, upper, count]`,
 * boundaries 0 `(lower, upper]`, 1 `[lower, upper)`, 2 both open, 3 both closed.
 */
export function histogramJson(histogram: FloatHistogram): string {
  const head = `{"count":"${formatSample(histogram.count)}","sum":"${formatSample(histogram.sum)}"`;
  const custom = histogram.customValues.length > 0;
  const buckets = histogramBuckets(histogram).flatMap(({ lower, upper, count }) => {
    if (count === 0) return [];
    const kind = custom ? (lower === -Infinity ? 3 : 0) : lower < 0 ? (upper > 0 ? 3 : 1) : 0;
    return [`[${kind},"${formatSample(lower)}","${formatSample(upper)}","${formatSample(count)}"]`];
  });
  return buckets.length === 0 ? `${head}}` : `${head},"buckets":[${buckets.join(',')}]}`;
}

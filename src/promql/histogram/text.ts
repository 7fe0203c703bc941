import { formatFloatG } from '../format.ts';
import { bucketBounds, usesCustomBuckets } from './buckets.ts';
import type { FloatHistogram } from './float-histogram.ts';

/** A histogram as count_values writes it into a label: count, sum and every populated bucket in ascending order. */
export function histogramText(histogram: FloatHistogram): string {
  const g = formatFloatG;
  const parts = [`count:${g(histogram.count)}`, `sum:${g(histogram.sum)}`];
  const { positive, negative, zeroThreshold, zeroCount } = histogram;
  for (let i = negative.indexes.length - 1; i >= 0; i--) {
    if (negative.counts[i] === 0) continue;
    const { lower, upper } = bucketBounds(histogram, negative.indexes[i]!);
    parts.push(`[${g(-upper)},${g(-lower)}):${g(negative.counts[i]!)}`);
  }
  if (zeroCount !== 0) parts.push(`[${g(-zeroThreshold)},${g(zeroThreshold)}]:${g(zeroCount)}`);
  positive.indexes.forEach((index, i) => {
    if (positive.counts[i] === 0) return;
    const { lower, upper } = bucketBounds(histogram, index);
    const open = usesCustomBuckets(histogram) && lower === -Infinity ? '[' : '(';
    parts.push(`${open}${g(lower)},${g(upper)}]:${g(positive.counts[i]!)}`);
  });
  return `{${parts.join(', ')}}`;
}

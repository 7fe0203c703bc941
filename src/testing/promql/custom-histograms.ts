import {
  emptyHistogram,
  labelsKey,
  sortedLabels,
  type FloatHistogram,
  type Label,
  type Labels,
} from '../../promql/index.ts';
import type { LoadedSample } from './memory-source.ts';

interface Parts {
  readonly labels: Labels;
  /** For each time: the cumulative counts by bound, the count and the sum. */
  readonly byTime: Map<number, { buckets: Map<number, number>; count: number | null; sum: number }>;
}

/**
 * Converts classic histograms (`…_bucket`, `…_count`, `…_sum`) to native histograms with custom buckets. Each has the
 * base name of the metric and its labels without `le`.
 */
export function customHistograms(
  series: readonly { readonly labels: Labels; readonly samples: readonly LoadedSample[] }[],
): { labels: Labels; samples: LoadedSample[] }[] {
  const all = new Map<string, Parts>();
  for (const { labels, samples } of series) {
    const found = /^(.+)_(bucket|count|sum)$/.exec(labels.find(([name]) => name === '__name__')?.[1] ?? '');
    if (found === null) continue;
    const [, base, part] = found as unknown as [string, string, string];
    const bound = boundOf(labels);
    if (part === 'bucket' && Number.isNaN(bound)) continue;
    const parts = partsFor(all, labels, base);
    for (const { time, value, histogram, stale } of samples) {
      if (histogram !== undefined || stale === true) continue;
      let at = parts.byTime.get(time);
      if (at === undefined) parts.byTime.set(time, (at = { buckets: new Map(), count: null, sum: 0 }));
      if (part === 'bucket') at.buckets.set(bound, value);
      else if (part === 'count') at.count = value;
      else at.sum = value;
    }
  }
  return [...all.values()].map(({ labels, byTime }) => ({
    labels,
    samples: [...byTime].map(([time, at]) => ({ time, value: NaN, histogram: toHistogram(at) })),
  }));
}

function boundOf(labels: Labels): number {
  const text = labels.find(([name]) => name === 'le')?.[1] ?? '';
  return text === '+Inf' ? Infinity : text === '' ? NaN : Number(text);
}

function partsFor(all: Map<string, Parts>, labels: Labels, base: string): Parts {
  const rest = labels.filter(([name]) => name !== 'le' && name !== '__name__');
  const own = sortedLabels([...rest, ['__name__', base] satisfies Label]);
  const key = labelsKey(own);
  let parts = all.get(key);
  if (parts === undefined) all.set(key, (parts = { labels: own, byTime: new Map() }));
  return parts;
}

function toHistogram({
  buckets,
  count,
  sum,
}: {
  buckets: Map<number, number>;
  count: number | null;
  sum: number;
}): FloatHistogram {
  const sorted = [...buckets].sort(([a], [b]) => (a < b ? -1 : 1));
  const total = count ?? sorted.at(-1)?.[1] ?? 0;
  if (sorted.at(-1)?.[0] !== Infinity) sorted.push([Infinity, total]);
  const indexes: number[] = [];
  const counts: number[] = [];
  sorted.forEach(([, cumulative], i) => {
    const own = cumulative - (i === 0 ? 0 : sorted[i - 1]![1]);
    if (own === 0) return;
    indexes.push(i);
    counts.push(own);
  });
  return {
    ...emptyHistogram,
    schema: -53,
    count: total,
    sum,
    customValues: sorted.slice(0, -1).map(([bound]) => bound),
    positive: { indexes, counts },
  };
}

import type { QueuedSample, QueuedSeries } from '../queue/record.ts';

export type Halves<T> = readonly [first: readonly T[], second: readonly T[]];

/** The items in two halves; null when one is all there is. */
export function halvesOf<T>(items: readonly T[]): Halves<T> | null {
  if (items.length <= 1) return null;
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

/**
 * The samples in two parts of about equal size, each with whole points of OTLP: the samples that all series of a
 * histogram or summary have at one time are one point. Null when one point is all there is. The samples of a series
 * stay in their order.
 */
export function halvesOfPoints(samples: readonly QueuedSample[]): Halves<QueuedSample> | null {
  const points = new Map<string, QueuedSample[]>();
  const sets = new Map<QueuedSeries, string>();
  for (const sample of samples) {
    const { series, timeMs } = sample;
    let set = sets.get(series);
    if (set === undefined) sets.set(series, (set = labelSetOf(series)));
    const key = `${timeMs} ${set}`;
    const point = points.get(key);
    if (point) point.push(sample);
    else points.set(key, [sample]);
  }
  if (points.size <= 1) return null;
  const first: QueuedSample[] = [];
  const second: QueuedSample[] = [];
  for (const point of points.values()) {
    const isFirst = first.length === 0 || (second.length === 0 && 2 * first.length + point.length <= samples.length);
    (isFirst ? first : second).push(...point);
  }
  return [first, second];
}

/** Equal for all series of a histogram or summary with the same labels, else the series' own. */
function labelSetOf({ labels, meta }: QueuedSeries): string {
  if (meta.type !== 'histogram' && meta.type !== 'summary') return JSON.stringify(labels);
  const part = meta.type === 'histogram' ? 'le' : 'quantile';
  return `${meta.family} ${JSON.stringify(labels.filter(([name]) => name !== '__name__' && name !== part))}`;
}

import { parseSelector, sortedLabels, type Label, type Labels } from '../../promql/index.ts';
import type { LoadedSample } from './memory-source.ts';

/** Parses OpenMetrics text with timestamps (seconds). Series are in the order of their first appearance. */
export function parseOpenMetrics(text: string): { labels: Labels; samples: LoadedSample[] }[] {
  const bySeries = new Map<string, LoadedSample[]>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const timeAt = line.lastIndexOf(' ');
    const valueAt = line.lastIndexOf(' ', timeAt - 1);
    const series = line.slice(0, valueAt);
    const plain = line.slice(valueAt + 1, timeAt);
    const value = plain === '+Inf' ? Infinity : plain === '-Inf' ? -Infinity : Number(plain);
    let samples = bySeries.get(series);
    if (samples === undefined) bySeries.set(series, (samples = []));
    samples.push({ time: Math.round(Number(line.slice(timeAt + 1)) * 1000), value });
  }
  return [...bySeries].map(([series, samples]) => {
    const { matchers } = parseSelector(series);
    return { labels: sortedLabels(matchers.map(({ name, value }): Label => [name, value])), samples };
  });
}

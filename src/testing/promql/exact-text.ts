import { labelsText, type QueryResult } from '../../promql/index.ts';

/** An answer as text that shows every bit: two answers have the same bits exactly if their texts are the same. */
export function exactText({ value, warnings, infos }: QueryResult): string {
  const lines: string[] = [value.type, ...warnings, ...infos];
  if (value.type === 'vector') {
    for (const { labels, value: v, histogram } of value.elements) {
      lines.push(`${labelsText(labels)} ${histogram === undefined ? number(v) : structure(histogram)}`);
    }
  } else if (value.type === 'matrix') {
    for (const { labels, timestamps, values, histograms } of value.series) {
      lines.push(labelsText(labels));
      timestamps.forEach((time, i) => lines.push(`  ${time} ${number(values[i]!)}`));
      for (const { timestamp, histogram } of histograms) lines.push(`  ${timestamp} ${structure(histogram)}`);
    }
  } else lines.push(typeof value.value === 'number' ? number(value.value) : value.value);
  return lines.join('\n');
}

const number = (value: number): string => (Object.is(value, -0) ? '-0' : String(value));

const structure = (value: object): string =>
  JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'number') return number(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    // Sorted, because the order of an object's members means nothing.
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });

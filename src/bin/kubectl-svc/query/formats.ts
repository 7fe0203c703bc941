import { printable, table, type Column } from '../output/table.ts';
import { sampleOf, samplesOf, seriesText, type Labels, type QueryData, type Sample } from './result.ts';
import { timeText } from './times.ts';

interface Row {
  readonly metric: Labels;
  readonly sample: Sample;
}

/** Up to this many labels get a column each; with more, the series is written as in PromQL. */
const maxLabelColumns = 5;

/**
 * A result in readable form. A range has a row for each sample, with its time. Empty for a result without samples.
 * Pure; ends with a newline.
 */
export function tableText(data: QueryData, options: { headers: boolean }): string {
  if (data.resultType === 'scalar' || data.resultType === 'string') return `${printable(data.result[1])}\n`;
  const rows = rowsOf(data);
  if (rows.length === 0) return '';
  const names = labelNames(rows);
  const split = names.length <= maxLabelColumns;
  const timed = data.resultType === 'matrix';
  const columns: Column[] = [
    ...(timed ? [{ title: 'TIME' }] : []),
    ...(split ? names.map((name) => ({ title: name === '__name__' ? 'METRIC' : name })) : [{ title: 'SERIES' }]),
    { title: 'VALUE', right: true },
  ];
  const cells = rows.map(({ metric, sample }) => [
    ...(timed ? [timeText(sample.seconds * 1000)] : []),
    ...(split ? names.map((name) => metric[name] ?? '') : [seriesText(metric)]),
    sample.text,
  ]);
  return table(columns, cells, options);
}

/** CSV as in RFC 4180: labels, time in seconds and value of each sample. Pure. */
export function csvText(data: QueryData, options: { headers: boolean }): string {
  const rows = rowsOf(data);
  const names = labelNames(rows);
  const line = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;
  const head = options.headers ? [line([...names, 'timestamp', 'value'])] : [];
  const lines = rows.map(({ metric, sample }) =>
    line([...names.map((name) => metric[name] ?? ''), String(sample.seconds), sample.text]),
  );
  return [...head, ...lines].join('');
}

/** As `promtool query` prints it, with control characters escaped. Pure. */
export function promtoolText(data: QueryData): string {
  if (data.resultType === 'scalar') return `scalar: ${data.result[1]} @[${data.result[0]}]\n`;
  if (data.resultType === 'string') return `${printable(data.result[1])}\n`;
  const at = ({ seconds, text }: Sample): string => `${text} @[${seconds}]\n`;
  if (data.resultType === 'vector')
    return data.result.map((one) => `${printable(seriesText(one.metric))} => ${at(sampleOf(one))}`).join('');
  return data.result
    .map((one) => `${printable(seriesText(one.metric))} =>\n${samplesOf(one).map(at).join('')}`)
    .join('');
}

function rowsOf(data: QueryData): Row[] {
  if (data.resultType === 'vector') return data.result.map((one) => ({ metric: one.metric, sample: sampleOf(one) }));
  if (data.resultType === 'matrix')
    return data.result.flatMap((one) => samplesOf(one).map((sample) => ({ metric: one.metric, sample })));
  return [{ metric: {}, sample: { seconds: data.result[0], text: data.result[1] } }];
}

/** The label names of all rows, the metric's name first. */
function labelNames(rows: readonly Row[]): string[] {
  const names = new Set(rows.flatMap(({ metric }) => Object.keys(metric)));
  const hasName = names.delete('__name__');
  return [...(hasName ? ['__name__'] : []), ...[...names].sort()];
}

const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

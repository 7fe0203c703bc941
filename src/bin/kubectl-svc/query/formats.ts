import { printable, tableLines, type Column } from '../output/table.ts';
import { sampleOf, samplesOf, seriesText, type Labels, type QueryData, type Sample } from './result.ts';
import { timeText } from './times.ts';

interface Row {
  readonly metric: Labels;
  readonly sample: Sample;
}

/** Up to this many labels get a column each; with more, the series is written as in PromQL. */
const maxLabelColumns = 5;

/**
 * A result in readable form, line by line. A range has a row for each sample, with its time. Nothing for a result
 * without samples.
 */
export function* tableText(data: QueryData, options: { headers: boolean }): Generator<string> {
  if (data.resultType === 'scalar' || data.resultType === 'string') return yield `${printable(data.result[1])}\n`;
  if (rowsOf(data).next().done) return;
  const names = labelNames(data);
  const split = names.length <= maxLabelColumns;
  const timed = data.resultType === 'matrix';
  const columns: Column[] = [
    ...(timed ? [{ title: 'TIME' }] : []),
    ...(split ? names.map((name) => ({ title: name === '__name__' ? 'METRIC' : name })) : [{ title: 'SERIES' }]),
    { title: 'VALUE', right: true },
  ];
  function* cells(): Generator<string[]> {
    for (const { metric, sample } of rowsOf(data))
      yield [
        ...(timed ? [timeText(sample.seconds * 1000)] : []),
        ...(split ? names.map((name) => metric[name] ?? '') : [seriesText(metric)]),
        sample.text,
      ];
  }
  yield* tableLines(columns, { [Symbol.iterator]: cells }, options);
}

/** CSV as in RFC 4180, line by line: labels, time in seconds and value of each sample. */
export function* csvText(data: QueryData, options: { headers: boolean }): Generator<string> {
  const names = labelNames(data);
  const line = (cells: readonly string[]): string => `${cells.map(csvCell).join(',')}\r\n`;
  if (options.headers) yield line([...names, 'timestamp', 'value']);
  for (const { metric, sample } of rowsOf(data))
    yield line([...names.map((name) => metric[name] ?? ''), String(sample.seconds), sample.text]);
}

/** As `promtool query` prints it, line by line, with control characters escaped. */
export function* promtoolText(data: QueryData): Generator<string> {
  const at = ({ seconds, text }: Sample): string => `${text} @[${seconds}]\n`;
  if (data.resultType === 'scalar') yield `scalar: ${data.result[1]} @[${data.result[0]}]\n`;
  else if (data.resultType === 'string') yield `${printable(data.result[1])}\n`;
  else if (data.resultType === 'vector')
    for (const one of data.result) yield `${printable(seriesText(one.metric))} => ${at(sampleOf(one))}`;
  else
    for (const one of data.result) {
      yield `${printable(seriesText(one.metric))} =>\n`;
      yield* samplesOf(one).map(at);
    }
}

function* rowsOf(data: QueryData): Generator<Row> {
  if (data.resultType === 'vector') for (const one of data.result) yield { metric: one.metric, sample: sampleOf(one) };
  else if (data.resultType === 'matrix') {
    for (const one of data.result) for (const sample of samplesOf(one)) yield { metric: one.metric, sample };
  } else yield { metric: {}, sample: { seconds: data.result[0], text: data.result[1] } };
}

/** The label names of all series, the metric's name first. */
function labelNames(data: QueryData): string[] {
  const series = data.resultType === 'vector' || data.resultType === 'matrix' ? data.result : [];
  const names = new Set(series.flatMap(({ metric }) => Object.keys(metric)));
  const hasName = names.delete('__name__');
  return [...(hasName ? ['__name__'] : []), ...[...names].sort()];
}

const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

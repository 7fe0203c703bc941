import { shortNumber } from '../graph/scale.ts';
import type { Styles } from '../output/style.ts';
import { table, type Column } from '../output/table.ts';
import type { TopRow } from './rows.ts';
import { type Figure, isBody } from './top-query.ts';

interface FigureColumn {
  readonly figure: Figure;
  readonly title: string;
  readonly text: (value: number) => string;
}

const perSecond = (value: number): string => shortNumber(value);
const ratio = (value: number): string => `${(value * 100).toFixed(value > 0 && value < 0.001 ? 2 : 1)}%`;
const bytes = (value: number): string => `${shortNumber(value)}B`;

const figureColumns: readonly FigureColumn[] = [
  { figure: 'requestsPerSecond', title: 'REQ/S', text: perSecond },
  { figure: 'errorRatio', title: 'ERRORS', text: ratio },
  { figure: 'p50Seconds', title: 'P50', text: latency },
  { figure: 'p99Seconds', title: 'P99', text: latency },
  { figure: 'inBytesPerSecond', title: 'IN/S', text: bytes },
  { figure: 'outBytesPerSecond', title: 'OUT/S', text: bytes },
  { figure: 'requestBodyBytesPerSecond', title: 'REQ-BODY/S', text: bytes },
  { figure: 'responseBodyBytesPerSecond', title: 'RESP-BODY/S', text: bytes },
];

/** Rows with at least this share of failed requests are highlighted. */
const alarming = 0.05;

/** The rows as a table; a missing figure is a dash. Pure; the text ends with a newline. */
export function topTable(
  rows: readonly TopRow[],
  options: { namespaces: boolean; wide: boolean; headers: boolean; style: Styles },
): string {
  const shown = figureColumns.filter(({ figure }) => options.wide || !isBody(figure));
  const kinds = rows.some(({ kind }) => kind !== undefined);
  const columns: Column[] = [
    ...(options.namespaces ? [{ title: 'NAMESPACE' }] : []),
    ...(kinds ? [{ title: 'KIND' }] : []),
    { title: 'NAME' },
    ...shown.map(({ title }) => ({ title, right: true })),
  ];
  const errors = columns.findIndex(({ title }) => title === 'ERRORS');
  const cells = rows.map((row) => [
    ...(options.namespaces ? [row.namespace ?? ''] : []),
    ...(kinds ? [row.kind ?? ''] : []),
    row.name,
    ...shown.map(({ figure, text }) => (row[figure] === undefined ? '-' : text(row[figure]))),
  ]);
  return table(columns, cells, {
    headers: options.headers,
    paint: (text, column, row) =>
      column === errors && (rows[row]?.errorRatio ?? 0) >= alarming ? options.style.red(text) : text,
  });
}

/** A latency as text, such as `850µs`, `12ms` or `1.5s`. */
function latency(seconds: number): string {
  if (seconds < 0.001) return `${shortNumber(seconds * 1e6)}µs`;
  return seconds < 1 ? `${shortNumber(seconds * 1e3)}ms` : `${shortNumber(seconds)}s`;
}

import { graphText } from '../graph/graph.ts';
import type { Session } from '../session.ts';
import type { Range } from './range.ts';
import { seriesText, type MatrixSeries } from './result.ts';

/** Height of a graph where there is no terminal, and at most. */
const graphRows = 20;

/** A range as a graph as wide as the terminal. Empty without series. */
export function drawn({ stdout, style }: Session, result: readonly MatrixSeries[], range: Range): string {
  if (result.length === 0) return '';
  const series = result.map(({ metric, values = [] }) => ({
    label: seriesText(metric),
    points: values.map(([seconds, text]) => [seconds * 1000, Number(text)] as const),
  }));
  const legend = Math.min(series.length, 8);
  return graphText(series, {
    columns: stdout.columns,
    rows: Math.max(10, Math.min(graphRows + legend, stdout.rows - 1)),
    start: range.start,
    end: range.end,
    stepMs: range.stepMs,
    style,
  });
}

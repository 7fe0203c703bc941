/** The result of a query in one line. Pure. */
import { maxLines } from '../parts/chart-data.ts';
import { seriesOf, type QueryData } from '../api/promql.ts';

/** The most rows that the table of values shows. */
export const maxRows = 500;

/** `now` is the listed result, `graph` the drawn one; undefined if the expression has no graph. */
export function querySummary(now: QueryData, graph: QueryData | undefined, ms: number): string {
  const isSeries = now.resultType === 'vector' || now.resultType === 'matrix';
  const count = isSeries ? now.result.length : 1;
  const lines = graph ? seriesOf(graph).filter(({ values }) => values !== undefined).length : 0;
  const drawn = lines > maxLines ? `; the first ${maxLines} are drawn` : '';
  const listed = count > maxRows ? `, the first ${maxRows} listed` : '';
  return `${count} series in ${ms} ms${drawn}${listed}`;
}

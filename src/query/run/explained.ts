import { nodeLabel } from '../../api/labels.ts';
import { explain, planQuery } from '../../promql/index.ts';
import type { Expr } from '../../promql/index.ts';
import type { DepartedNode } from '../agents/directory.ts';
import type { PushdownReport } from '../fanout/pushdown-report.ts';

/**
 * The `explain` of an answer: its execution path, the paths that were given up and why, the planner's reasons line by
 * line, the work of each node for each fragment (a part of the query that agents compute), and the nodes that have left
 * but were there in the time that the query reads. Durations are in milliseconds with one decimal.
 */
export function explained(expr: Expr, report: PushdownReport, departed: readonly DepartedNode[]): object {
  const { path, fallbacks, fragments, rawSelectors } = report;
  const aggregates = path !== 'series';
  const together = fragments.some(({ mode }) => mode === 'whole');
  return {
    path,
    fallbacks,
    plan: explain(planQuery(expr, { partitionLabel: nodeLabel, aggregates, together })).split('\n'),
    rawSelectors,
    fragments: fragments.map(({ nodes, ...fragment }) => ({
      ...fragment,
      nodes: nodes.map(({ elapsedMs, waitMs, evaluateMs, ...rest }) => ({
        ...rest,
        elapsedMs: tenths(elapsedMs),
        waitMs: tenths(waitMs),
        evaluateMs: tenths(evaluateMs),
      })),
    })),
    departed: departed.map(({ node, fromMs, leftMs }) => ({ node, from: timeText(fromMs), left: timeText(leftMs) })),
  };
}

const timeText = (ms: number): string => new Date(ms).toISOString();

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

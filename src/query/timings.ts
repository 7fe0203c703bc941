import type { QueryStats } from '../promql/index.ts';

/** What a query's time went into, as Prometheus names it. Units: seconds. */
export interface QueryTimings {
  readonly evalTotalTime: number;
  readonly resultSortTime: number;
  /** Until there was data to evaluate: planning, asking the nodes, waiting for them, attempts that were given up. */
  readonly queryPreparationTime: number;
  readonly innerEvalTime: number;
  readonly execQueueTime: number;
  readonly execTotalTime: number;
}

/** How long a query waited for its turn, and how long it took from there. Units: seconds. */
export interface QuerySeconds {
  readonly queue: number;
  readonly evaluation: number;
}

/**
 * Divides a query's time among its parts.
 * Guarantees: a total is the sum of its parts. Without statistics, as of a query that failed, no data was evaluated.
 */
export function queryTimings(
  { queue, evaluation }: QuerySeconds,
  { evaluationMs, sortMs }: Pick<QueryStats, 'evaluationMs' | 'sortMs'> = { evaluationMs: 0, sortMs: 0 },
): QueryTimings {
  const innerEvalTime = evaluationMs / 1000;
  const resultSortTime = sortMs / 1000;
  const queryPreparationTime = Math.max(0, evaluation - innerEvalTime - resultSortTime);
  const evalTotalTime = queryPreparationTime + innerEvalTime + resultSortTime;
  return {
    evalTotalTime,
    resultSortTime,
    queryPreparationTime,
    innerEvalTime,
    execQueueTime: queue,
    execTotalTime: queue + evalTotalTime,
  };
}

import type { QueryStats } from '../promql/index.ts';

/** The parts of a query's time, under Prometheus' names for them. Units: seconds. */
export interface QueryTimings {
  readonly evalTotalTime: number;
  readonly resultSortTime: number;
  /** Until evaluation starts: planning, requests to the nodes, waiting for them, attempts that were given up. */
  readonly queryPreparationTime: number;
  readonly innerEvalTime: number;
  readonly execQueueTime: number;
  readonly execTotalTime: number;
}

/** How long a query waited at the limit of parallel queries, and how long it then ran. Units: seconds. */
export interface QuerySeconds {
  readonly queue: number;
  readonly evaluation: number;
}

/**
 * Splits a query's time into its parts.
 * Guarantees: a total is the sum of its parts. Without statistics, as for a failed query, the evaluation time is 0.
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

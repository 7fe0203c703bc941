import type { Clock } from '../base/clock.ts';
import { warmUp } from '../promql/index.ts';
import { renderQueryData } from './json/render.ts';

/**
 * Answers synthetic queries, JSON included, for the given time, so that a process that has just started answers its
 * first users as fast as a warm one. Returns the number of queries.
 */
export function warmUpQueries(budgetMs: number, clock: Clock): Promise<number> {
  return warmUp({
    budgetMs,
    monotonic: () => clock.monotonic(),
    use: ({ value }) => {
      for (const _ of renderQueryData(value));
    },
  });
}

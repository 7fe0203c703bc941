import type { Clock } from '../base/clock.ts';
import { warmUp } from '../promql/index.ts';
import { renderQueryData } from './json/render.ts';

/**
 * Answers made-up queries, JSON included, for so long: a process just started answers its first users as fast as one
 * that runs for a while. Answers with their number.
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

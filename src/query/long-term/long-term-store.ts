import type { ReadQuery } from '../../tsdb/index.ts';
import type { ReadSeries, SampleBudget } from '../fanout/merge/series-collector.ts';

/** The name in an answer's `missingNodes` when the long-term store did not answer. */
export const longTermName = 'long-term-store';

export interface LongTermReadOptions {
  readonly deadlineMs: number;
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
}

/**
 * A store outside the cluster that receives the agents' samples and keeps them longer than the agents do.
 * `read` answers several selectors, all of them whole, or throws an AgentFailure.
 */
export interface LongTermStore {
  read(queries: readonly ReadQuery[], options: LongTermReadOptions): Promise<ReadSeries[][]>;
}

/** A store's error text, cut to 300 characters: its beginning names the failing part, its end the cause. */
export function briefly(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= 300 ? trimmed : `${trimmed.slice(0, 120)} … ${trimmed.slice(-170)}`;
}

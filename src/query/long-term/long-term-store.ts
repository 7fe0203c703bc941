import type { ReadQuery } from '../../tsdb/index.ts';
import type { ReadSeries, SampleBudget } from '../fanout/merge/series-collector.ts';

/** The name under which an answer's `missingNodes` tells that the store did not answer. */
export const longTermName = 'long-term-store';

export interface LongTermReadOptions {
  readonly deadlineMs: number;
  readonly budget: SampleBudget;
  readonly signal: AbortSignal;
}

/**
 * A store outside the cluster that keeps what the agents have sent it for longer than they do.
 * `read` answers several selectors, all of them whole, or throws an AgentFailure.
 */
export interface LongTermStore {
  read(queries: readonly ReadQuery[], options: LongTermReadOptions): Promise<ReadSeries[][]>;
}

/** What a store says of a failure, within 300 characters: who failed stands at the beginning, the cause at the end. */
export function briefly(text: string): string {
  const trimmed = text.trim();
  return trimmed.length <= 300 ? trimmed : `${trimmed.slice(0, 120)} … ${trimmed.slice(-170)}`;
}

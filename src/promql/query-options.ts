import type { Memory } from '../base/memory-pool.ts';
import type { TurnTaking } from '../base/turns/turns.ts';
import type { Distribution } from './plan/fragment.ts';
import type { SeriesSource } from './types.ts';

/** Settings of one query. */
export interface QueryOptions {
  readonly source: SeriesSource;
  /** Cancels the query: type `canceled`, or `timeout` when the reason is a TimeoutError. */
  readonly signal?: AbortSignal;
  /** Overrides the engine's lookback. */
  readonly lookbackDeltaMs?: number;
  /** Overrides the engine's time limit. */
  readonly timeoutMs?: number;
  /** Overrides the engine's limit of samples. */
  readonly maxSamples?: number;
  /** The largest number of series that all selectors together may find. Default: no limit. */
  readonly maxSeries?: number | undefined;
  /**
   * The memory that this query takes from and shares with others. When the query has ended, the part that the answer
   * occupies stays taken. Default: `maxSamples` is the only limit.
   */
  readonly memory?: Memory | undefined;
  /** Counts the samples of each step (`stats.samples`). Default false. */
  readonly countSamples?: boolean | undefined;
  /** Where the query waits for its turns of the event loop. Default: the engine's. */
  readonly turns?: TurnTaking;
  /** Computes parts of the query on the nodes that have their series. The answer has the same bits. Default: none. */
  readonly distribution?: Distribution;
}

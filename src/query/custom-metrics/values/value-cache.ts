import type { Clock } from '../../../base/clock.ts';
import { RecentAnswers } from '../../../base/recent-answers.ts';
import { within } from '../../../base/time-limit.ts';
import type { Answered } from '../../run/runner-options.ts';
import type { QueryResult } from '../../../promql/index.ts';
import type { MetricQuery } from '../providers/provider.ts';
import { combinedQuery, readRows, type Row } from './evaluate.ts';

/** Rows of one metric over a namespace, and the nodes whose data they lack. */
export interface Evaluated {
  readonly rows: readonly Row[];
  readonly missingNodes: readonly string[];
}

export interface ValueCacheOptions {
  /** One instant query over all agents. It is queued, and limited, as a query of the namespace. */
  readonly instant: (
    query: string,
    timeMs: number,
    request: { signal: AbortSignal; partialResponse: boolean; readsOf: string; namespace: string | undefined },
  ) => Promise<Pick<Answered<QueryResult>, 'result' | 'missingNodes'>>;
  readonly clock: Clock;
  /** How long a whole answer is reused. Units: ms. */
  readonly freshMs: number;
  /** Deadline of one evaluation. Units: ms. */
  readonly deadlineMs: number;
}

/** At most this many answers are kept. Each is stale within seconds. */
const maxKept = 10_000;

/**
 * Evaluates metrics. Autoscalers of one namespace ask for the same metric at nearly the same time: they share one
 * evaluation. A degraded answer goes to the requests that waited for it and is never cached.
 */
export class ValueCache {
  readonly #options: ValueCacheOptions;
  readonly #answers: RecentAnswers<Evaluated>;

  constructor(options: ValueCacheOptions) {
    this.#options = options;
    this.#answers = new RecentAnswers({
      clock: options.clock,
      keptMs: options.freshMs,
      from: 'answer',
      most: maxKept,
      isKept: ({ missingNodes }) => missingNodes.length === 0,
    });
  }

  get(query: MetricQuery, namespace: string | undefined): Promise<Evaluated> {
    const text = combinedQuery(query);
    return this.#answers.get(`${namespace ?? ''} ${text}`, () => this.#evaluate(text, query, namespace));
  }

  async #evaluate(text: string, query: MetricQuery, namespace: string | undefined): Promise<Evaluated> {
    const { instant, clock, deadlineMs } = this.#options;
    const now = clock.now();
    // Whether a node that left the cluster counts as missing depends only on what the value itself reads, not on the
    // selectors for the sample times, which may look further back.
    const request = { partialResponse: true, readsOf: query.value, namespace };
    const ask = (signal: AbortSignal): ReturnType<typeof instant> => instant(text, now, { ...request, signal });
    const { result, missingNodes } = await within(clock, deadlineMs, ask);
    return { rows: readRows(result, query.label, now), missingNodes };
  }
}

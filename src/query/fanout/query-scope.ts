import { QueryError } from '../../promql/index.ts';
import type { SelectRequest, SelectResult, SeriesSource } from '../../promql/index.ts';
import type { ReadQuery } from '../../tsdb/index.ts';
import type { ExpectedAgent } from '../agents/directory.ts';
import { fanOut } from './fan-out.ts';
import type { FanOutDeps } from './fan-out.ts';
import type { LostNode } from './failure.ts';
import type { ReadSeries, SampleBudget } from './series-collector.ts';

interface Waiting {
  readonly query: ReadQuery;
  readonly resolve: (result: SelectResult) => void;
  readonly reject: (error: unknown) => void;
}

export interface ScopeOptions extends FanOutDeps {
  readonly agents: readonly ExpectedAgent[];
  readonly signal: AbortSignal;
  /** Monotonic ms at which the query's time is up. */
  readonly deadline: number;
  readonly maxSamples: number;
  /** Nodes that an earlier attempt at the same query lost: they are left out from the start. */
  readonly lost: ReadonlyMap<string, LostNode>;
}

/**
 * What one evaluation of a query reads: the engine's source over all agents.
 *
 * Flow: selectors that the engine asks for in one turn go to each agent as one request.
 * Guarantees: a node's data is in the whole evaluation or not in it at all. When a node answers one batch and fails a
 * later one, the evaluation is void: `restart` is set, and the caller evaluates again without the node.
 */
export class QueryScope implements SeriesSource {
  readonly #options: ScopeOptions;
  readonly #budget: SampleBudget;
  readonly #answered = new Set<string>();
  #waiting: Waiting[] = [];
  readonly lost: Map<string, LostNode>;
  restart = false;

  constructor(options: ScopeOptions) {
    this.#options = options;
    this.#budget = { left: options.maxSamples };
    this.lost = new Map(options.lost);
  }

  select(request: SelectRequest): Promise<SelectResult> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) queueMicrotask(() => void this.#flush());
      this.#waiting.push({ query: readQuery(request), resolve, reject });
    });
  }

  /** Series (labels alone count) of several selectors: what the metadata endpoints need. */
  async read(queries: readonly ReadQuery[]): Promise<ReadSeries[][]> {
    const { agents, clock, signal, deadline } = this.#options;
    const result = await fanOut(
      {
        agents: agents.filter(({ node }) => !this.lost.has(node)),
        queries,
        budget: this.#budget,
        signal,
        remainingMs: deadline - clock.monotonic(),
      },
      this.#options,
    );
    for (const lost of result.lost) this.lost.set(lost.node, lost);
    if (result.lost.some(({ node }) => this.#answered.has(node))) {
      this.restart = true;
      throw new QueryError('internal', 'an agent was lost in the middle of the query');
    }
    for (const node of result.answered) this.#answered.add(node);
    return result.series;
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      const series = await this.read(batch.map(({ query }) => query));
      for (const [i, { resolve }] of batch.entries()) resolve({ series: series[i]! });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}

/** Whole milliseconds, as the protocol has them; a wider range is harmless, the engine cuts it. */
function readQuery({ matchers, mint, maxt, hints }: SelectRequest): ReadQuery {
  const { start, end, step, range, func, grouping, by } = hints;
  return {
    startMs: Math.floor(mint),
    endMs: Math.ceil(maxt),
    matchers,
    hints: {
      startMs: Math.floor(start),
      endMs: Math.ceil(end),
      stepMs: Math.round(step),
      rangeMs: Math.round(range),
      func,
      grouping,
      by,
    },
  };
}

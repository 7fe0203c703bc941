import { LinkedAbort } from '../../base/linked-abort.ts';
import type { MemoryLease, MemoryPart } from '../../base/memory-pool.ts';
import type { TurnTaking } from '../../base/turns/turns.ts';
import type { Distribution, QueryOptions, SeriesSource } from '../../promql/index.ts';
import type { LostNode } from '../fanout/failure.ts';
import { Pushdown } from '../fanout/pushdown.ts';
import type { ExecutionPath, Fallback, PushdownReport } from '../fanout/pushdown-report.ts';
import { QueryScope, type ScopeOptions } from '../fanout/query-scope.ts';
import type { Asker } from '../fanout/readers/call-agent.ts';
import type { PartialReader } from '../fanout/readers/partial-reader.ts';
import { restrictIndex, restrictPartials, restrictReader, restrictStore } from '../fanout/readers/restrict-reader.ts';
import type { LongTermStore } from '../long-term/long-term-store.ts';
import { SplicedSource } from '../long-term/spliced-source.ts';
import type { HeldTo, RunnerOptions, RunRequest } from './runner-options.ts';

/** The source that an evaluation reads: the agents, or agents and long-term store as one. */
export type Reading = SeriesSource & Pick<QueryScope, 'read' | 'list' | 'lost' | 'memory'>;

/** One evaluation. It may run several times: each time over another source. */
export type Evaluate<T> = (options: QueryOptions & { readonly source: Reading }) => Promise<T>;

/** The result of an evaluation, the nodes that it lacks, and its execution path. */
export interface Evaluated<T> {
  readonly result: T;
  readonly lost: ReadonlyMap<string, LostNode>;
  readonly pushdown: PushdownReport;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** How often annotations were raised that are in neither list. */
  readonly omittedWarnings: number;
  readonly omittedInfos: number;
}

export interface RunningQueryOptions {
  readonly runner: RunnerOptions;
  readonly request: RunRequest;
  readonly limits: HeldTo;
  /** Monotonic ms at which the query's time is up. */
  readonly deadline: number;
  readonly turns: TurnTaking;
  /** Gives each evaluation its memory. The memory of the last evaluation is kept, because the result lies in it. */
  readonly lease: MemoryLease;
}

/**
 * One error object for all attempts: to capture a stack costs more than everything else that an attempt does when it
 * ends.
 */
const ended = new Error('the evaluation has ended');

/**
 * A query that has passed the gate (the limit of parallel queries): its readers, bound to the caller and the visible
 * namespaces, its deadline and its limits.
 */
export class RunningQuery {
  readonly limits: HeldTo;
  /** Aborts when the query's time is up, its client leaves, or its memory is taken away. */
  readonly signal: AbortSignal;
  readonly #options: RunningQueryOptions;
  readonly #scope: Omit<ScopeOptions, 'lost' | 'memory' | 'agents'>;
  readonly #partialReader: PartialReader | undefined;
  readonly #store: LongTermStore | undefined;
  /** Samples before this time are read from the long-term store. Units: ms. */
  readonly #boundaryMs: number;

  constructor(options: RunningQueryOptions) {
    const { runner, request, limits, deadline, turns, lease } = options;
    const { clock, longTerm, partialReader, indexReader } = runner;
    const { caller = '', namespaces } = request;
    const asker = { caller, turns };
    const reader = forCaller(runner.reader, asker);
    const index = indexReader && forCaller(indexReader, asker);
    const partials = partialReader && forCaller(partialReader, asker);
    this.#options = options;
    this.limits = limits;
    this.signal = lease.signal;
    this.#scope = {
      reader: namespaces ? restrictReader(reader, namespaces) : reader,
      indexReader: index && namespaces ? restrictIndex(index, namespaces) : index,
      clock,
      agentTimeoutMs: limits.agentTimeoutMs,
      signal: lease.signal,
      deadline,
      maxSamples: limits.maxSamples,
      turns,
    };
    this.#partialReader = namespaces ? restrictPartials(partials, namespaces) : partials;
    this.#store = longTerm && (namespaces ? restrictStore(longTerm.store, namespaces) : longTerm.store);
    this.#boundaryMs = longTerm === undefined ? 0 : clock.now() - longTerm.afterMs;
  }

  /** The rest of the query's time. Units: ms. */
  get remainingMs(): number {
    return this.#options.deadline - this.#options.runner.clock.monotonic();
  }

  /**
   * Runs work that makes the result without `evaluate`, with memory of its own. What it still has in flight when it ends
   * is aborted.
   */
  async within<T>(work: (signal: AbortSignal, memory: MemoryPart) => Promise<T>): Promise<T> {
    const over = new LinkedAbort(this.signal);
    try {
      return await work(over.signal, this.#options.lease.part());
    } finally {
      over.release();
      over.abort(ended);
    }
  }

  /**
   * Evaluates until all data of the result come from the same nodes by one execution path. Repeats the evaluation
   * without a node or a long-term store that was lost on the way, and by a lower path when an agent cannot take part in
   * a higher one (whole → agg → series → off).
   * Errors: those of `evaluate`.
   */
  async evaluate<T>(evaluate: Evaluate<T>): Promise<Evaluated<T>> {
    const { runner, request, lease } = this.#options;
    const agents = runner.directory.agents();
    const reader = this.#partialReader;
    const forced = request.pushdown !== undefined;
    let path: ExecutionPath = reader === undefined ? 'off' : (request.pushdown ?? runner.pushdown ?? 'whole');
    let lost: ReadonlyMap<string, LostNode> = new Map();
    let lostStore: LostNode | undefined;
    const fallbacks: Fallback[] = [];
    // Each iteration loses one more node, loses the store or takes a lower path, so the loop ends.
    for (;;) {
      // Aborts the work that an attempt still has in flight when it ends.
      const over = new LinkedAbort(this.signal);
      const memory = lease.part();
      const own = { ...this.#scope, agents, lost, signal: over.signal, memory };
      const scope = new QueryScope(own);
      const { ledger, budget } = scope;
      const pushdown =
        reader === undefined || path === 'off'
          ? undefined
          : new Pushdown({ scope: own, path, forced, reader, ledger, budget });
      const spliced = this.#spliced(scope, over.signal, lostStore);
      const distribution = spliced === undefined ? pushdown : spliced.distribution(pushdown);
      try {
        const result = await evaluate(this.#queryOptions(spliced ?? scope, distribution));
        const { path: taken = 'off', reports: fragments = [] } = pushdown ?? {};
        const report = { path: taken, fragments, fallbacks, rawSelectors: scope.rawSelectors };
        const nodes = new Map(scope.lost);
        if (spliced?.lostStore !== undefined) nodes.set(spliced.lostStore.node, spliced.lostStore);
        const told = (result ?? {}) as Partial<Evaluated<T>>;
        const { warnings = [], infos = [], omittedWarnings = 0, omittedInfos = 0 } = told;
        const all = { warnings: [...new Set([...warnings, ...scope.warnings])], infos, omittedWarnings, omittedInfos };
        return { result, ...all, lost: nodes, pushdown: report };
      } catch (error) {
        memory.close();
        if (this.signal.aborted) throw error;
        if (pushdown?.stepDown !== undefined) {
          fallbacks.push(pushdown.stepDown);
          path = pushdown.stepDown.to;
        } else if (!scope.restart && spliced?.restart !== true) throw error;
        lost = scope.lost;
        lostStore = spliced?.lostStore;
      } finally {
        over.release();
        over.abort(ended);
      }
    }
  }

  /** Agents and long-term store as one source; undefined without a store. */
  #spliced(scope: QueryScope, signal: AbortSignal, lost: LostNode | undefined): SplicedSource | undefined {
    const { deadline, turns } = this.#options;
    const { clock } = this.#options.runner;
    const [store, boundaryMs] = [this.#store, this.#boundaryMs];
    return store && new SplicedSource({ scope, store, boundaryMs, clock, signal, deadline, turns, lost });
  }

  #queryOptions(source: Reading, distribution: Distribution | undefined): QueryOptions & { readonly source: Reading } {
    const { lookbackDeltaMs, countSamples } = this.#options.request;
    const { maxSamples, maxSeries } = this.limits;
    return {
      source,
      signal: this.signal,
      timeoutMs: Math.max(1, this.remainingMs),
      turns: this.#options.turns,
      maxSamples,
      maxSeries,
      memory: source.memory,
      countSamples,
      ...(lookbackDeltaMs === undefined ? {} : { lookbackDeltaMs }),
      ...(distribution ? { distribution } : {}),
    };
  }
}

/** A reader bound to a caller. */
function forCaller<A, Q, O extends Asker, R>(
  reader: (agent: A, question: Q, options: O) => R,
  asker: Asker,
): (agent: A, question: Q, options: O) => R {
  return (agent, question, options) => reader(agent, question, { ...options, ...asker });
}

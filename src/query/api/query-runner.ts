import { Gate } from '../../base/gate.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type {
  Distribution,
  IndexLists,
  LabelList,
  QueryOptions,
  QueryRead,
  QueryResult,
  SampleCounts,
  SeriesSource,
} from '../../promql/index.ts';
import { compareLabels } from '../../tsdb/index.ts';
import type { Matcher, ReadQuery } from '../../tsdb/index.ts';
import type { DepartedNode, ExpectedAgent } from '../agents/directory.ts';
import { Departures, withDeparted } from '../fanout/departed.ts';
import { lostNodeWarning } from '../fanout/failure.ts';
import type { LostNode } from '../fanout/failure.ts';
import type { QueryScope } from '../fanout/query-scope.ts';
import { attempt } from '../fanout/attempts.ts';
import type { PushdownReport } from '../fanout/pushdown-report.ts';
import { askAgents } from '../fanout/ask-agents.ts';
import type { AgentQuestion } from '../fanout/ask-agents.ts';
import type { IndexQuestion } from '../fanout/index-reader.ts';
import { restrictIndex, restrictPartials, restrictReader, restrictStore } from '../fanout/restrict-reader.ts';
import type { ReadSeries } from '../fanout/series-collector.ts';
import { SplicedSource } from '../long-term/spliced-source.ts';
import { ApiError } from './api-error.ts';
import { countQuery } from './count-query.ts';
import type { Extras } from './respond.ts';
import type { RunnerOptions, RunRequest } from './runner-options.ts';

export type { RunnerOptions, RunRequest };

export type Answered<T> = {
  readonly result: T;
  readonly seconds: { queue: number; evaluation: number };
  readonly pushdown: PushdownReport;
  /** Of the missing nodes, those that left. */
  readonly departed: readonly DepartedNode[];
  readonly samples?: SampleCounts | undefined;
} & Extras;

/** What an evaluation reads from: the agents, or agents and long-term store as one. */
type Reading = SeriesSource & Pick<QueryScope, 'read' | 'list' | 'lost'>;

/** What running gave, before it is made an answer. */
interface Ran<T> {
  readonly result: T;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly lost: ReadonlyMap<string, LostNode>;
  readonly departed: readonly DepartedNode[];
  readonly pushdown: PushdownReport;
  /** When the result was there; what comes after it is no part of the query's time. */
  readonly endedAt?: number;
  readonly samples?: SampleCounts;
}

type Evaluate<T> = (
  scope: Reading,
  signal: AbortSignal,
  timeoutMs: number,
  distribution: Distribution | undefined,
) => Promise<T>;

/** How far back a probe looks for a sample of the agent itself. */
const probeWindowMs = 300_000;
/** Share of the places that only users with no running query get. */
const keptForOthers = 0.2;
/** Queries of autoscalers that run at a time: a metric's values are shared, so they are few. */
const autoscalerConcurrency = 8;
/** Lists of labels and series that are made at a time: they are short, and every dashboard begins with some. */
const listConcurrency = 8;
/** Most annotations of a kind in an answer. Source: Prometheus' API. */
const maxAnnotations = 10;

/**
 * Runs queries over all agents: waits at the gate, keeps the time limit, evaluates again when an agent is lost on the
 * way, and says which nodes are missing.
 * Errors: ApiError `timeout`, `canceled`, `unavailable`; QueryError from the engine.
 */
export class QueryRunner {
  readonly #options: RunnerOptions;
  readonly #departures: Departures;
  readonly #gate: Gate;
  readonly #autoscalers = new Gate(autoscalerConcurrency);
  readonly #lists = new Gate(listConcurrency);

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#departures = new Departures(options);
    this.#gate = new Gate(options.maxConcurrency, Math.floor(options.maxConcurrency * keptForOthers));
  }

  get running(): number {
    return this.#gate.running + this.#autoscalers.running + this.#lists.running;
  }

  instant(query: string, timeMs: number, request: RunRequest): Promise<Answered<QueryResult>> {
    const span = { start: timeMs, end: timeMs, step: 0 };
    return this.#query(query, request, span, (options) => this.#options.engine.instant(query, timeMs, options));
  }

  range(
    query: string,
    range: { start: number; end: number; step: number },
    request: RunRequest,
  ): Promise<Answered<QueryResult>> {
    const { start, end, step } = range;
    return this.#query(query, request, range, (options) =>
      this.#options.engine.range(query, start, end, step, options),
    );
  }

  /** Labels of the series that match any of the sets (none: all) within the times, sorted; with a limit, at least the first so many. */
  async series(
    sets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
    request: RunRequest,
    limit = 0,
  ): Promise<Answered<LabelList>> {
    const answer = await this.#list({ kind: 'series', label: null, sets, startMs, endMs, limit }, request);
    return { ...answer, result: answer.result.series };
  }

  /** The names of those series' labels, or the values of one of their labels. */
  async labelTexts(
    label: string | null,
    sets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
    request: RunRequest,
    limit = 0,
  ): Promise<Answered<readonly string[]>> {
    const kind = label === null ? 'names' : 'values';
    const answer = await this.#list({ kind, label, sets, startMs, endMs, limit }, request);
    return { ...answer, result: answer.result.texts };
  }

  #list(question: IndexQuestion, request: RunRequest): Promise<Answered<IndexLists>> {
    const sets = question.sets.length > 0 ? question.sets : [[]];
    const { startMs: mint, endMs: maxt } = question;
    const reads = sets.map((matchers) => ({ matchers, mint, maxt }));
    return this.#run(request, (scope) => scope.list({ ...question, sets }), reads, this.#lists);
  }

  /** The samples of several selectors, each list in label order. */
  select(queries: readonly ReadQuery[], request: RunRequest): Promise<Answered<ReadSeries[][]>> {
    const evaluate = async (scope: Reading): Promise<ReadSeries[][]> => {
      const results = await scope.read(queries);
      for (const series of results) series.sort((a, b) => compareLabels(a.labels, b.labels));
      return results;
    };
    const reads = queries.map(({ matchers, startMs, endMs }) => ({ matchers, mint: startMs, maxt: endMs }));
    return this.#run(request, evaluate, reads);
  }

  /** Asks every agent for as little as it can: who there is, and who does not answer. */
  async probe(request: RunRequest): Promise<{
    agents: readonly ExpectedAgent[];
    lost: ReadonlyMap<string, LostNode>;
  }> {
    const { directory, clock } = this.#options;
    const now = clock.now();
    const matchers: Matcher[] = [{ type: '=', name: '__name__', value: 'svc_agent_up' }];
    const query = { startMs: now - probeWindowMs, endMs: now, matchers, hints: { func: 'series' } };
    let lost: ReadonlyMap<string, LostNode> = new Map();
    const evaluate = async (scope: Reading): Promise<void> => {
      await scope.read([query]);
      lost = scope.lost;
    };
    await this.#run(request, evaluate, []);
    return { agents: directory.agents(), lost };
  }

  /**
   * Asks every agent the same; `read` checks an answer. Lost nodes are told as for any query; nodes that left, where
   * the question is about times.
   */
  ask<T>(
    question: AgentQuestion,
    request: RunRequest,
    read: (data: unknown, node: string) => T,
    reads: readonly QueryRead[] = [],
  ): Promise<Answered<T[]>> {
    const { asker, clock, agentTimeoutMs, directory } = this.#options;
    return this.#within(request, async (signal, deadline) => {
      // What the agents are asked here, no long-term store has.
      const departed = this.#departures.of(() => reads, -Infinity);
      const pushdown = { path: 'off', fragments: [], fallbacks: [], rawSelectors: 0 } as const;
      const told = { warnings: [], infos: [], departed, pushdown };
      if (asker === undefined) return { ...told, result: [], lost: withDeparted(new Map(), departed) };
      const options = { agents: directory.agents(), asker, clock, agentTimeoutMs, signal };
      const { answers, lost } = await askAgents(
        question,
        { ...options, remainingMs: deadline - clock.monotonic() },
        read,
      );
      return { ...told, result: answers, lost: withDeparted(lost, departed) };
    });
  }

  /** A query, and its samples where they are to be counted. */
  #query(
    query: string,
    request: RunRequest,
    span: { start: number; end: number; step: number },
    evaluate: (options: QueryOptions) => Promise<QueryResult>,
  ): Promise<Answered<QueryResult>> {
    const { clock, countingEngine, directory } = this.#options;
    const evaluation =
      (run: typeof evaluate): Evaluate<QueryResult> =>
      (source, signal, timeoutMs, distribution) =>
        run({ source, signal, timeoutMs, ...lookback(request), ...(distribution ? { distribution } : {}) });
    return this.#within(request, async (signal, deadline) => {
      const departed = this.#departures.ofQuery(request.readsOf ?? query, span, request.lookbackDeltaMs);
      const attempted = await this.#attempts(request, signal, deadline, evaluation(evaluate));
      const whole = { ...attempted, departed, lost: withDeparted(attempted.lost, departed) };
      this.#options.onExecuted?.(whole.pushdown, whole.lost);
      if (request.countSamples === undefined || countingEngine === undefined) return whole;
      const endedAt = clock.monotonic();
      const agents = directory.agents().filter(({ node }) => !attempted.lost.has(node));
      const step = Math.max(1, span.step);
      const steps = { start: span.start, step, count: Math.floor((span.end - span.start) / step) + 1 };
      const { samples, warnings } = await countQuery(
        request.countSamples(),
        span,
        steps,
        (text, { start, step, count }) => {
          const counting = evaluation((options) =>
            countingEngine.range(text, start, start + (count - 1) * step, step, options),
          );
          return this.#attempts(request, signal, deadline, counting, agents);
        },
      );
      return { ...whole, endedAt, samples, warnings: [...attempted.warnings, ...warnings] };
    });
  }

  #run<T>(request: RunRequest, evaluate: Evaluate<T>, reads: readonly QueryRead[], gate?: Gate): Promise<Answered<T>> {
    const run = async (signal: AbortSignal, deadline: number): Promise<Ran<T>> => {
      const departed = this.#departures.of(() => reads);
      const attempted = await this.#attempts(request, signal, deadline, evaluate);
      const lost = withDeparted(attempted.lost, departed);
      this.#options.onExecuted?.(attempted.pushdown, lost);
      return { ...attempted, departed, lost };
    };
    return this.#within(request, run, gate);
  }

  /** Runs something within the limits of a query. */
  async #within<T>(
    request: RunRequest,
    run: (signal: AbortSignal, deadline: number) => Promise<Ran<T>>,
    gate = request.forAutoscaler ? this.#autoscalers : this.#gate,
  ): Promise<Answered<T>> {
    const { clock, directory, queryTimeoutMs } = this.#options;
    const limit = Math.min(request.timeoutMs ?? Infinity, queryTimeoutMs);
    const started = clock.monotonic();
    const deadline = started + limit;
    const ended = new LinkedAbort(request.signal);
    let isLate = false;
    const cancelTimer = clock.setTimeout(() => {
      isLate = true;
      ended.abort(new DOMException('query timed out in expression evaluation', 'TimeoutError'));
    }, limit);
    const { signal } = ended;
    let leave: () => void = () => {};
    try {
      if (limit <= 0) throw new ApiError('timeout', 'query timed out in expression evaluation');
      leave = await gate.enter(signal, request.caller);
      if (!directory.synced) throw new ApiError('unavailable', 'the list of agents is not complete yet; try again');
      const entered = clock.monotonic();
      const { result, warnings, infos, lost, departed, pushdown, samples, endedAt } = await run(signal, deadline);
      const missingNodes = [...lost.keys()].sort();
      if (missingNodes.length > 0 && !request.partialResponse) {
        throw new ApiError('unavailable', `no answer from ${missingNodes.join(', ')} and partial_response is false`);
      }
      const nodeWarnings = missingNodes.map((node) => lostNodeWarning(lost.get(node)!));
      const seconds = {
        queue: (entered - started) / 1000,
        evaluation: ((endedAt ?? clock.monotonic()) - entered) / 1000,
      };
      return {
        result,
        missingNodes,
        infos: capped(infos, 'info'),
        warnings: [...capped(warnings, 'warning'), ...nodeWarnings],
        seconds,
        pushdown,
        departed,
        samples,
      };
    } catch (error) {
      if (isLate) throw new ApiError('timeout', 'query timed out in expression evaluation', { cause: error });
      if (request.signal.aborted)
        throw new ApiError('canceled', 'query was canceled in expression evaluation', { cause: error });
      throw error;
    } finally {
      cancelTimer();
      ended.release();
      leave();
    }
  }

  async #attempts<T>(
    request: RunRequest,
    signal: AbortSignal,
    deadline: number,
    evaluate: Evaluate<T>,
    agents = this.#options.directory.agents(),
  ): Promise<Omit<Ran<T>, 'departed'>> {
    const { clock, agentTimeoutMs, maxSamples } = this.#options;
    const { namespaces } = request;
    const reader = namespaces === undefined ? this.#options.reader : restrictReader(this.#options.reader, namespaces);
    const { partialReader: ownPartials, indexReader: ownIndex } = this.#options;
    const indexReader = ownIndex && namespaces ? restrictIndex(ownIndex, namespaces) : ownIndex;
    const { longTerm } = this.#options;
    const boundaryMs = longTerm === undefined ? 0 : clock.now() - longTerm.afterMs;
    const store = longTerm && (namespaces ? restrictStore(longTerm.store, namespaces) : longTerm.store);
    let lostStore: LostNode | undefined;
    const once = async (scope: QueryScope, distribution: Distribution | undefined): Promise<T> => {
      const left = (): number => Math.max(1, deadline - clock.monotonic());
      if (store === undefined) return evaluate(scope, signal, left(), distribution);
      for (;;) {
        const source = new SplicedSource({ scope, store, boundaryMs, clock, signal, deadline, lost: lostStore });
        try {
          return await evaluate(source, signal, left(), source.distribution(distribution));
        } catch (error) {
          // The second time the store is left out from the start, so this ends.
          if (!source.restart || scope.restart || signal.aborted) throw error;
        } finally {
          lostStore = source.lostStore;
        }
      }
    };
    const attempted = await attempt(
      {
        scope: { reader, indexReader, clock, agentTimeoutMs, agents, signal, deadline, maxSamples },
        partialReader: namespaces === undefined ? ownPartials : restrictPartials(ownPartials, namespaces),
        path: request.pushdown ?? this.#options.pushdown ?? 'whole',
        forced: request.pushdown !== undefined,
      },
      once,
    );
    const { result, pushdown, warnings: joined } = attempted;
    const lost = new Map(attempted.lost);
    if (lostStore !== undefined) lost.set(lostStore.node, lostStore);
    const { warnings = [], infos = [] } = (result ?? {}) as {
      warnings?: readonly string[];
      infos?: readonly string[];
    };
    return { result, warnings: [...new Set([...warnings, ...joined])], infos, lost, pushdown };
  }
}

function lookback({ lookbackDeltaMs }: RunRequest): { lookbackDeltaMs?: number } {
  return lookbackDeltaMs === undefined ? {} : { lookbackDeltaMs };
}

function capped(texts: readonly string[], kind: string): string[] {
  if (texts.length <= maxAnnotations) return [...texts];
  return [...texts.slice(0, maxAnnotations), `${texts.length - maxAnnotations} more ${kind} annotations omitted`];
}

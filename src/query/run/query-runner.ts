import { fairPlaces, Gate } from '../../base/turns/gate.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { MemoryPool, type MemoryAccount } from '../../base/memory-pool.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import { Pace, turns } from '../../base/turns/turns.ts';
import type { IndexLists, LabelList, QueryRead, QueryResult, QueryValue, PackedSums } from '../../promql/index.ts';
import { packedSums, parse, takeMemory, tooManySeries, unpackedLabels } from '../../promql/index.ts';
import { compareLabels } from '../../tsdb/index.ts';
import type { Matcher, ReadQuery } from '../../tsdb/index.ts';
import type { DepartedNode, ExpectedAgent } from '../agents/directory.ts';
import { Departures, withDeparted } from '../fanout/departed.ts';
import { warningOf } from '../fanout/failure.ts';
import type { LostNode } from '../fanout/failure.ts';
import { askAgents, type ReadAnswer } from '../fanout/ask-agents.ts';
import type { AgentQuestion } from '../fanout/ask-agents.ts';
import type { IndexQuestion } from '../fanout/readers/index-reader.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';
import { ApiError } from '../api/api-error.ts';
import { RunningQuery, type Evaluate, type Evaluated } from './running-query.ts';
import { limitsOf, type Answered, type HeldTo, type RunnerOptions, type RunRequest } from './runner-options.ts';

/** The outcome of a run, before it becomes an answer. */
interface Ran<T> extends Evaluated<T> {
  readonly departed: readonly DepartedNode[];
}

/** Comparing two label sets costs as much as this many samples. */
const compareWork = 20;
/** How far back a probe looks for a sample of `svc_agent_up`, which every agent writes about itself. */
const probeWindowMs = 300_000;
/**
 * The most queries that run at the same time for the autoscalers of one namespace, and of all namespaces. Autoscalers
 * share the values of a metric, so few queries are needed.
 */
const autoscalerPlaces = { perUser: 2, all: 64 };
/**
 * The most lists of labels or series that are made at the same time. Queries do not delay them: lists take little time,
 * and every dashboard needs some.
 */
const listConcurrency = 8;
/** The most annotations of one severity in an answer. Source: Prometheus' API. */
const maxAnnotations = 10;

const timedOut = (): DOMException => new DOMException('query timed out in expression evaluation', 'TimeoutError');

/**
 * Runs queries over all agents: waits for a place among the concurrent queries, enforces the deadline, evaluates again
 * when an agent is lost on the way, and reports the missing nodes.
 * Errors: ApiError `timeout`, `canceled`, `unavailable`; QueryError from the engine.
 */
export class QueryRunner {
  readonly #options: RunnerOptions;
  readonly #departures: Departures;
  readonly #gate: Gate;
  readonly #autoscalers = new Gate(autoscalerPlaces.all, () => ({ perUser: autoscalerPlaces.perUser }));
  /** The limits of concurrent queries that policies set; each query is also held to the server's own. */
  readonly #gatesOfPolicies = new Map<string, Gate>();
  readonly #lists = new Gate(listConcurrency, fairPlaces);
  /** The memory of all queries, and of their answers until these have been sent. */
  readonly #memory: MemoryPool;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#departures = new Departures(options);
    this.#gate = new Gate(options.maxConcurrency, fairPlaces);
    this.#memory = new MemoryPool({ limitBytes: options.memoryBytes });
  }

  /** The agents that should answer now. */
  agents(): readonly ExpectedAgent[] {
    return this.#options.directory.agents();
  }

  get running(): number {
    return this.#gate.running + this.#autoscalers.running + this.#lists.running;
  }

  /** Bytes that all queries hold together. The first bytes of each query, which are free, do not count. */
  get heldBytes(): number {
    return this.#memory.heldBytes;
  }

  /** How often a query had to release its memory and start again. */
  get memoryRestarts(): number {
    return this.#memory.restarts;
  }

  /**
   * The memory of one request, to be closed when its answer has been sent; `end` cuts an answer that is read too slowly
   * while others need the memory.
   */
  openMemory(caller: string, end: () => void): MemoryAccount {
    return this.#memory.open(caller, end);
  }

  /** The limits that apply to queries of this kind now. */
  heldTo(request: Omit<RunRequest, 'signal'>): HeldTo {
    return limitsOf(this.#options, request);
  }

  /**
   * Runs the queries of a request that has several; `work` passes on the request that it gets. They share one place,
   * which is taken before the first of them holds memory. With a place for each, the second could wait for ever while
   * the result of the first is in memory: the queries that have the places may be waiting for that memory.
   * Errors: those of `work`; ApiError timeout; the signal's reason.
   */
  async inOnePlace<T>(request: RunRequest, work: (request: RunRequest) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const limits = this.heldTo(request);
    const limitMs = Math.min(request.timeoutMs ?? Infinity, limits.timeoutMs);
    const deadline = clock.monotonic() + limitMs;
    const limit = new TimeLimit(clock, limitMs, request.signal, () => new ApiError('timeout', timedOut().message));
    const leave = await this.#enter(limits, limit.signal, request.caller).finally(() => limit.release());
    try {
      return await work({ ...request, isPlaced: true, timeoutMs: deadline - clock.monotonic() });
    } finally {
      leave();
    }
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

  /**
   * The elements of `parts.join(' or ')` at one time. The parts are sums with different labels; elements that differ
   * only in `label` are returned as one. When the agents can send the elements in this form, the query costs a fraction
   * of `instant`; otherwise it is evaluated as by `instant`.
   */
  sums(
    parts: readonly string[],
    label: string,
    timeMs: number,
    request: RunRequest,
  ): Promise<Answered<{ readonly sums: readonly PackedSums[] }>> {
    const { engine } = this.#options;
    const text = parts.join(' or ');
    const span = { start: timeMs, end: timeMs, step: 0 };
    const exprs = parts.map((part) => parse(part));
    let mayPack = true;
    return this.#query(text, request, span, async (options) => {
      if (mayPack) {
        // If this attempt ends without a result, the next attempt at the same query evaluates it as `instant` does.
        mayPack = false;
        const own = { ...options, settings: engine.settings(request.lookbackDeltaMs) };
        const packed = await packedSums(exprs, label, timeMs, own);
        if (packed !== null) return { ...packed, infos: [] };
      }
      const { value, ...told } = await engine.instant(text, timeMs, options);
      return { ...told, sums: unpacked(value, label) };
    });
  }

  /**
   * Labels of the series that match any of the sets (none: all) in the time range, sorted; with a limit, at least the
   * first `limit` of them. `answerBytes`: as in `select`, for each series.
   */
  async series(
    sets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
    request: RunRequest,
    limit = 0,
    answerBytes = 0,
  ): Promise<Answered<LabelList>> {
    const question = { kind: 'series', label: null, sets, startMs, endMs, limit } as const;
    const answer = await this.#list(question, request, answerBytes);
    return { ...answer, result: answer.result.series };
  }

  /** The label names of the series that `series` finds, or the values of one of their labels. */
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

  #list(question: IndexQuestion, request: RunRequest, answerBytes = 0): Promise<Answered<IndexLists>> {
    const sets = question.sets.length > 0 ? question.sets : [[]];
    const { startMs: mint, endMs: maxt } = question;
    const reads = sets.map((matchers) => ({ matchers, mint, maxt }));
    const evaluate: Evaluate<IndexLists> = async ({ source, maxSeries = Infinity }) => {
      const lists = await source.list({ ...question, sets });
      if (lists.series.length > maxSeries) throw tooManySeries(lists.series.length, maxSeries);
      takeMemory(source.memory, lists.series.length * answerBytes);
      return lists;
    };
    return this.#run(request, evaluate, () => this.#departures.of(() => reads), this.#lists);
  }

  /**
   * The samples of several selectors, each list in label order. `answerBytes` returns how much memory the answer that
   * is made from them takes; this memory is charged to the query here, before any part of the answer is made.
   */
  select(
    queries: readonly ReadQuery[],
    request: RunRequest,
    answerBytes: (results: readonly (readonly ReadSeries[])[]) => number = () => 0,
  ): Promise<Answered<ReadSeries[][]>> {
    const evaluate: Evaluate<ReadSeries[][]> = async ({ source, maxSeries = Infinity }) => {
      const results = await source.read(queries);
      const series = results.reduce((sum, list) => sum + list.length, 0);
      if (series > maxSeries) throw tooManySeries(series, maxSeries);
      const pace = new Pace(request.signal);
      const byLabels = (a: ReadSeries, b: ReadSeries): number => compareLabels(a.labels, b.labels);
      const sorted: ReadSeries[][] = [];
      for (const list of results) sorted.push(await sortInTurns(pace, list, byLabels, compareWork));
      takeMemory(source.memory, answerBytes(sorted));
      return sorted;
    };
    const reads = queries.map(({ matchers, startMs, endMs }) => ({ matchers, mint: startMs, maxt: endMs }));
    return this.#run(request, evaluate, () => this.#departures.of(() => reads));
  }

  /** Sends every agent the smallest possible request, to find out which agents there are and which do not answer. */
  async probe(request: RunRequest): Promise<{
    agents: readonly ExpectedAgent[];
    lost: ReadonlyMap<string, LostNode>;
  }> {
    const { directory, clock } = this.#options;
    const now = clock.now();
    const matchers: Matcher[] = [{ type: '=', name: '__name__', value: 'svc_agent_up' }];
    const query = { startMs: now - probeWindowMs, endMs: now, matchers, hints: { func: 'series' } };
    let lost: ReadonlyMap<string, LostNode> = new Map();
    const evaluate: Evaluate<void> = async ({ source }) => {
      await source.read([query]);
      lost = source.lost;
    };
    await this.#run(request, evaluate, () => []);
    return { agents: directory.agents(), lost };
  }

  /**
   * Sends every agent the same request, or those of `nodes` alone; `read` validates an answer. Lost nodes are reported
   * as for any query. Nodes that left the cluster are reported only for a request with `reads`.
   */
  ask<T>(
    question: AgentQuestion,
    request: RunRequest,
    read: ReadAnswer<T>,
    { nodes = () => true, reads = [] }: { nodes?: (node: string) => boolean; reads?: readonly QueryRead[] } = {},
  ): Promise<Answered<T[]>> {
    const { asker, clock, directory } = this.#options;
    return this.#within(request, async (running) => {
      const { remainingMs, limits } = running;
      // No long-term store has the data that the agents are asked for here.
      const departed = this.#departures.of(() => reads, -Infinity);
      const pushdown = { path: 'off', fragments: [], fallbacks: [], rawSelectors: 0 } as const;
      const told = { warnings: [], infos: [], omittedWarnings: 0, omittedInfos: 0 };
      const rest = { ...told, departed, pushdown };
      if (asker === undefined) return { ...rest, result: [], lost: withDeparted(new Map(), departed) };
      const agents = directory.agents().filter(({ node }) => nodes(node));
      const time = { clock, agentTimeoutMs: limits.agentTimeoutMs, remainingMs };
      const { answers, lost } = await running.within((signal, memory) =>
        askAgents(question, { agents, asker, memory, signal, ...time }, read),
      );
      return { ...rest, result: answers, lost: withDeparted(lost, departed) };
    });
  }

  #query<T>(
    query: string,
    request: RunRequest,
    span: { start: number; end: number; step: number },
    evaluate: Evaluate<T>,
  ): Promise<Answered<T>> {
    const { readsOf = query, lookbackDeltaMs } = request;
    return this.#run(request, evaluate, () => this.#departures.ofQuery(readsOf, span, lookbackDeltaMs));
  }

  #run<T>(
    request: RunRequest,
    evaluate: Evaluate<T>,
    departedOf: () => readonly DepartedNode[],
    gate?: Gate,
  ): Promise<Answered<T>> {
    const run = async (running: RunningQuery): Promise<Ran<T>> => {
      const departed = departedOf();
      const evaluated = await running.evaluate(evaluate);
      const lost = withDeparted(evaluated.lost, departed);
      this.#options.onExecuted?.(evaluated.pushdown, lost);
      return { ...evaluated, departed, lost };
    };
    return this.#within(request, run, gate);
  }

  /** Runs a function within the limits of a query. */
  async #within<T>(
    request: RunRequest,
    run: (running: RunningQuery) => Promise<Ran<T>>,
    gate = request.forAutoscaler ? this.#autoscalers : this.#gate,
  ): Promise<Answered<T>> {
    const { clock, directory } = this.#options;
    const limits = this.heldTo(request);
    const limit = Math.min(request.timeoutMs ?? Infinity, limits.timeoutMs);
    const started = clock.monotonic();
    const deadline = started + limit;
    const time = new TimeLimit(clock, limit, request.signal, timedOut);
    const { signal } = time;
    let leave: () => void = () => {};
    const own = turns.begin(request.caller ?? '', signal);
    const memory = request.memory ?? this.#memory.open(request.caller ?? '');
    try {
      if (limit <= 0) throw new ApiError('timeout', 'query timed out in expression evaluation');
      if (request.isPlaced !== true)
        leave = await (gate === this.#gate
          ? this.#enter(limits, signal, request.caller)
          : gate.enter(signal, request.caller));
      request.onEntered?.();
      if (!directory.synced) throw new ApiError('unavailable', 'the list of agents is not complete yet; try again');
      const entered = clock.monotonic();
      const evaluated = await memory.run(signal, (lease) =>
        run(new RunningQuery({ runner: this.#options, request, limits, deadline, turns: own, lease })),
      );
      const { result, warnings, infos, lost, departed, pushdown } = evaluated;
      const missingNodes = [...lost.keys()].sort();
      if (missingNodes.length > 0 && !limits.partialResponse) {
        const why = request.partialResponse ? 'a policy allows no partial answer' : 'partial_response is false';
        throw new ApiError('unavailable', `no answer from ${missingNodes.join(', ')} and ${why}`);
      }
      const nodeWarnings = missingNodes.map((node) => warningOf(lost.get(node)!));
      const seconds = {
        queue: (entered - started) / 1000,
        evaluation: (clock.monotonic() - entered) / 1000,
      };
      return {
        result,
        missingNodes,
        infos: capped(infos, evaluated.omittedInfos, 'info'),
        warnings: [...capped(warnings, evaluated.omittedWarnings, 'warning'), ...nodeWarnings],
        seconds,
        pushdown,
        departed,
      };
    } catch (error) {
      if (time.passed) {
        const waited = memory.shortage === null ? '' : `, for want of memory: ${memory.shortage.message}`;
        throw new ApiError('timeout', `query timed out in expression evaluation${waited}`, { cause: error });
      }
      if (request.signal.aborted)
        throw new ApiError('canceled', 'query was canceled in expression evaluation', { cause: error });
      throw error;
    } finally {
      time.release();
      own.end();
      leave();
      if (request.memory === undefined) memory.close();
    }
  }

  /**
   * Takes a place among the concurrent queries of the policy, then one among those of the server: a query that waits
   * for the first place does not hold the second.
   */
  async #enter({ places }: HeldTo, signal: AbortSignal, caller?: string): Promise<() => void> {
    if (places === undefined) return this.#gate.enter(signal, caller);
    let gate = this.#gatesOfPolicies.get(places.policy);
    if (gate === undefined) this.#gatesOfPolicies.set(places.policy, (gate = new Gate(places.limit, fairPlaces)));
    gate.resize(places.limit);
    const leave = await gate.enter(signal, caller);
    try {
      const leaveServer = await this.#gate.enter(signal, caller);
      return () => (leaveServer(), leave());
    } catch (error) {
      leave();
      throw error;
    }
  }
}

/** Turns each element of a vector into a sum of its own. */
function unpacked(value: QueryValue, label: string): PackedSums[] {
  if (value.type !== 'vector') throw new ApiError('internal', `a vector was asked for, a ${value.type} came`);
  return value.elements.map(({ labels, value: sum }) => ({
    ...unpackedLabels(labels, label),
    values: Float64Array.of(sum),
  }));
}

/** The first texts, and how many more there are with the `omitted` ones. */
function capped(texts: readonly string[], omitted: number, kind: string): string[] {
  const shown = texts.slice(0, maxAnnotations);
  const more = texts.length - shown.length + omitted;
  return more === 0 ? shown : [...shown, `${more} more ${kind} annotations omitted`];
}

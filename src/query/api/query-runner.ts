import type { Clock } from '../../base/clock.ts';
import type { Engine, QueryResult } from '../../promql/index.ts';
import { Gate, labelsKey, compareLabels } from '../../tsdb/index.ts';
import type { Labels, Matcher } from '../../tsdb/index.ts';
import type { AgentDirectory } from '../agents/directory.ts';
import type { AgentReader } from '../fanout/agent-reader.ts';
import { lostNodeWarning } from '../fanout/failure.ts';
import type { LostNode } from '../fanout/failure.ts';
import { QueryScope } from '../fanout/query-scope.ts';
import { ApiError } from './api-error.ts';
import type { Extras } from './respond.ts';

export interface RunnerOptions {
  readonly directory: AgentDirectory;
  readonly reader: AgentReader;
  readonly engine: Pick<Engine, 'instant' | 'range'>;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly maxSamples: number;
  readonly maxConcurrency: number;
}

/** What a request says about how it wants to be run. */
export interface RunRequest {
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal;
  /** The client's own limit; the server's is never exceeded. */
  readonly timeoutMs?: number | undefined;
  readonly lookbackDeltaMs?: number | undefined;
  /** False: a missing node is an error instead of a degraded answer. */
  readonly partialResponse: boolean;
}

export type Answered<T> = { readonly result: T; readonly seconds: { queue: number; evaluation: number } } & Extras;

/** Most annotations of a kind in an answer. Source: Prometheus' API. */
const maxAnnotations = 10;

/**
 * Runs queries over all agents: waits at the gate, keeps the time limit, evaluates again when an agent is lost on the
 * way, and says which nodes are missing.
 * Errors: ApiError `timeout`, `canceled`, `unavailable`; QueryError from the engine.
 */
export class QueryRunner {
  readonly #options: RunnerOptions;
  readonly #gate: Gate;

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#gate = new Gate(options.maxConcurrency);
  }

  get running(): number {
    return this.#gate.running;
  }

  instant(query: string, timeMs: number, request: RunRequest): Promise<Answered<QueryResult>> {
    return this.#run(request, (scope, signal, timeoutMs) =>
      this.#options.engine.instant(query, timeMs, { source: scope, signal, timeoutMs, ...lookback(request) }),
    );
  }

  range(
    query: string,
    range: { start: number; end: number; step: number },
    request: RunRequest,
  ): Promise<Answered<QueryResult>> {
    return this.#run(request, (scope, signal, timeoutMs) =>
      this.#options.engine.range(query, range.start, range.end, range.step, {
        source: scope,
        signal,
        timeoutMs,
        ...lookback(request),
      }),
    );
  }

  /** Labels of all series that match any of the sets (none: all) within the times, sorted and without repetition. */
  series(
    sets: readonly (readonly Matcher[])[],
    startMs: number,
    endMs: number,
    request: RunRequest,
  ): Promise<Answered<Labels[]>> {
    const queries = (sets.length > 0 ? sets : [[]]).map((matchers) => ({
      startMs,
      endMs,
      matchers,
      hints: { func: 'series' },
    }));
    return this.#run(request, async (scope) => {
      const found = new Map<string, Labels>();
      for (const result of await scope.read(queries)) {
        for (const { labels } of result) found.set(labelsKey(labels), labels);
      }
      return [...found.values()].sort(compareLabels);
    });
  }

  async #run<T>(
    request: RunRequest,
    evaluate: (scope: QueryScope, signal: AbortSignal, timeoutMs: number) => Promise<T>,
  ): Promise<Answered<T>> {
    const { clock, directory, queryTimeoutMs } = this.#options;
    const limit = Math.min(request.timeoutMs ?? Infinity, queryTimeoutMs);
    const started = clock.monotonic();
    const deadline = started + limit;
    const time = new AbortController();
    const cancelTimer = clock.setTimeout(
      () => time.abort(new DOMException('query timed out in expression evaluation', 'TimeoutError')),
      limit,
    );
    const signal = AbortSignal.any([request.signal, time.signal]);
    let leave: () => void = () => {};
    try {
      if (limit <= 0) throw new ApiError('timeout', 'query timed out in expression evaluation');
      leave = await this.#gate.enter(signal);
      if (!directory.synced) throw new ApiError('unavailable', 'the list of agents is not complete yet; try again');
      const entered = clock.monotonic();
      const { result, warnings, infos, lost } = await this.#attempts(signal, deadline, evaluate);
      const missingNodes = [...lost.keys()].sort();
      if (missingNodes.length > 0 && !request.partialResponse) {
        throw new ApiError('unavailable', `no answer from ${missingNodes.join(', ')} and partial_response is false`);
      }
      const nodeWarnings = missingNodes.map((node) => lostNodeWarning(lost.get(node)!));
      const seconds = { queue: (entered - started) / 1000, evaluation: (clock.monotonic() - entered) / 1000 };
      return {
        result,
        missingNodes,
        infos: capped(infos, 'info'),
        warnings: [...capped(warnings, 'warning'), ...nodeWarnings],
        seconds,
      };
    } catch (error) {
      if (time.signal.aborted)
        throw new ApiError('timeout', 'query timed out in expression evaluation', { cause: error });
      if (request.signal.aborted)
        throw new ApiError('canceled', 'query was canceled in expression evaluation', { cause: error });
      throw error;
    } finally {
      cancelTimer();
      leave();
    }
  }

  async #attempts<T>(
    signal: AbortSignal,
    deadline: number,
    evaluate: (scope: QueryScope, signal: AbortSignal, timeoutMs: number) => Promise<T>,
  ): Promise<{
    result: T;
    warnings: readonly string[];
    infos: readonly string[];
    lost: ReadonlyMap<string, LostNode>;
  }> {
    const { reader, clock, agentTimeoutMs, directory, maxSamples } = this.#options;
    const agents = directory.agents();
    let lost: ReadonlyMap<string, LostNode> = new Map();
    for (;;) {
      const scope = new QueryScope({ reader, clock, agentTimeoutMs, agents, signal, deadline, maxSamples, lost });
      try {
        const result = await evaluate(scope, signal, Math.max(1, deadline - clock.monotonic()));
        const { warnings = [], infos = [] } = result as { warnings?: readonly string[]; infos?: readonly string[] };
        return { result, warnings, infos, lost: scope.lost };
      } catch (error) {
        // Each attempt loses at least one node more, so this ends.
        if (!scope.restart || signal.aborted) throw error;
        lost = scope.lost;
      }
    }
  }
}

function lookback({ lookbackDeltaMs }: RunRequest): { lookbackDeltaMs?: number } {
  return lookbackDeltaMs === undefined ? {} : { lookbackDeltaMs };
}

function capped(texts: readonly string[], kind: string): string[] {
  if (texts.length <= maxAnnotations) return [...texts];
  return [...texts.slice(0, maxAnnotations), `${texts.length - maxAnnotations} more ${kind} annotations omitted`];
}

import type { Clock } from '../../base/clock.ts';
import type { MemoryAccount } from '../../base/memory-pool.ts';
import type { QueryLimits } from '../../capture/index.ts';
import { metricSamples, type Engine } from '../../promql/index.ts';
import type { AgentDirectory, DepartedNode } from '../agents/directory.ts';
import type { Extras } from '../api/respond.ts';
import type { AgentReader } from '../fanout/readers/agent-reader.ts';
import type { AgentAsker } from '../fanout/ask-agents.ts';
import type { LostNode } from '../fanout/failure.ts';
import type { IndexReader } from '../fanout/readers/index-reader.ts';
import type { PartialReader } from '../fanout/readers/partial-reader.ts';
import type { ExecutionPath, PushdownReport } from '../fanout/pushdown-report.ts';
import type { LimitSource } from '../policy-limits.ts';
import type { LongTermStore } from '../long-term/long-term-store.ts';

/** The dependencies and limits of a query runner. */
export interface RunnerOptions {
  readonly directory: AgentDirectory;
  readonly reader: AgentReader;
  /** Requests partial answers from agents; without it every query reads raw chunks. */
  readonly partialReader?: PartialReader | undefined;
  /** Reads the agents' indexes; without it series are read instead. */
  readonly indexReader?: IndexReader | undefined;
  /** Requests data other than samples from agents; without it no agent is asked, and none is missing. */
  readonly asker?: AgentAsker | undefined;
  /** How much of a query the agents may compute at most. Default `whole`. */
  readonly pushdown?: ExecutionPath;
  /** Called with the way in which each query was executed. */
  readonly onExecuted?: (report: PushdownReport, lost: ReadonlyMap<string, LostNode>) => void;
  readonly engine: Pick<Engine, 'instant' | 'range' | 'reads' | 'settings'>;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly maxSamples: number;
  readonly maxConcurrency: number;
  /** Bytes that all queries may hold together. */
  readonly memoryBytes: number;
  /** Limits that policies set for queries, within the limits above. Default: none. */
  readonly limits?: LimitSource | undefined;
  /** Answers for times older than `afterMs`, which the agents may no longer have. */
  readonly longTerm?: { readonly store: LongTermStore; readonly afterMs: number } | undefined;
}

/** The execution options of a request. */
export interface RunRequest {
  /** Aborts when the client goes away or the server stops. */
  readonly signal: AbortSignal;
  /** The client's own limit; the server's is never exceeded. */
  readonly timeoutMs?: number | undefined;
  readonly lookbackDeltaMs?: number | undefined;
  /** False: a missing node is an error instead of a degraded answer. */
  readonly partialResponse: boolean;
  /** Reads only the series of these namespaces; undefined: all series. */
  readonly namespaces?: ReadonlySet<string> | undefined;
  /** The namespaces whose limits apply. Default: those of `namespaces`. */
  readonly tenant?: ReadonlySet<string> | undefined;
  /** Forces this path instead of the best one. */
  readonly pushdown?: ExecutionPath | undefined;
  /** The part of the query that decides which departed nodes are reported. Default: all of it. */
  readonly readsOf?: string;
  /** True to count the samples of each step. */
  readonly countSamples?: boolean;
  /** The key for fair queueing: a caller does not wait for all requests of another. Default: one key for all. */
  readonly caller?: string;
  /** The account of the query's memory; whoever passes it closes it. Default: a new account, closed with the query. */
  readonly memory?: MemoryAccount | undefined;
  /** Uses the autoscalers' own limit of concurrent queries, so that other queries never delay this one. */
  readonly forAutoscaler?: boolean;
  /** True for a query of a request that has its place already: see `QueryRunner.inOnePlace`. */
  readonly isPlaced?: boolean;
  /** Called when the query has a place among those that run. */
  readonly onEntered?: () => void;
}

/** The outcome of a query, as an answer reports it. */
export type Answered<T> = {
  readonly result: T;
  readonly seconds: { queue: number; evaluation: number };
  readonly pushdown: PushdownReport;
  /** The missing nodes that have left the cluster. */
  readonly departed: readonly DepartedNode[];
} & Extras;

/** The limits of a query: the server's flags, and within them the policies. */
export interface HeldTo {
  readonly timeoutMs: number;
  readonly agentTimeoutMs: number;
  readonly maxSamples: number;
  /** Infinity: no limit. */
  readonly maxSeries: number;
  /** False: an answer that lacks a node is an error. */
  readonly partialResponse: boolean;
  readonly places: QueryLimits['places'];
}

/** The limits of a request: the server's flags, and within them those that policies set for its namespaces. */
export function limitsOf(
  { queryTimeoutMs, agentTimeoutMs, maxSamples, limits }: RunnerOptions,
  { tenant, namespaces, partialResponse, forAutoscaler }: Omit<RunRequest, 'signal'>,
): HeldTo {
  const set = limits?.of(tenant ?? namespaces) ?? {};
  return {
    timeoutMs: Math.min(queryTimeoutMs, set.timeoutMs ?? Infinity),
    agentTimeoutMs: Math.min(agentTimeoutMs, set.agentTimeoutMs ?? Infinity),
    maxSamples: Math.min(maxSamples, set.maxSamples ?? Infinity, forAutoscaler === true ? metricSamples : Infinity),
    maxSeries: set.maxSeries ?? Infinity,
    // For autoscalers, the metrics API decides about each value: it refuses most values that lack a node, and leaves
    // out pods on the missing node.
    partialResponse: partialResponse && (forAutoscaler === true || set.failPartial !== true),
    places: forAutoscaler === true ? undefined : set.places,
  };
}

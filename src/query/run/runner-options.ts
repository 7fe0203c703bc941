import type { Clock } from '../../base/clock.ts';
import type { MemoryAccount } from '../../base/memory-pool.ts';
import type { Engine, Expr, FragmentSettings } from '../../promql/index.ts';
import type { AgentDirectory } from '../agents/directory.ts';
import type { AgentReader } from '../fanout/readers/agent-reader.ts';
import type { AgentAsker } from '../fanout/ask-agents.ts';
import type { LostNode } from '../fanout/failure.ts';
import type { IndexReader } from '../fanout/readers/index-reader.ts';
import type { PartialReader } from '../fanout/readers/partial-reader.ts';
import type { ExecutionPath, PushdownReport } from '../fanout/pushdown-report.ts';
import type { LimitSource } from '../policy-limits.ts';
import type { LongTermStore } from '../long-term/long-term-store.ts';

/** What a query runner works with. */
export interface RunnerOptions {
  readonly directory: AgentDirectory;
  readonly reader: AgentReader;
  /** How agents are asked for shares of queries; without one every query reads raw chunks. */
  readonly partialReader?: PartialReader | undefined;
  /** How agents' indexes are asked; without one series are read instead. */
  readonly indexReader?: IndexReader | undefined;
  /** How agents are asked for what is no sample; without one nobody is asked, and nobody is missing. */
  readonly asker?: AgentAsker | undefined;
  /** The highest way a query may take. Default `whole`. */
  readonly pushdown?: ExecutionPath;
  /** Told how each query was executed. */
  readonly onExecuted?: (report: PushdownReport, lost: ReadonlyMap<string, LostNode>) => void;
  readonly engine: Pick<Engine, 'instant' | 'range' | 'reads'>;
  /** As the engine's: for what is computed beside it. Without them nothing is. */
  readonly settings?: FragmentSettings | undefined;
  /** Counts samples where that is asked for; one that takes names away last. */
  readonly countingEngine?: Pick<Engine, 'range'> | undefined;
  readonly clock: Clock;
  readonly agentTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly maxSamples: number;
  readonly maxConcurrency: number;
  /** Bytes that all queries may hold together. */
  readonly memoryBytes: number;
  /** What policies hold queries to, within the limits above. Default: nothing. */
  readonly limits?: LimitSource | undefined;
  /** Answers for times older than `afterMs`, which the agents may no longer have. */
  readonly longTerm?: { readonly store: LongTermStore; readonly afterMs: number } | undefined;
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
  /** Only what concerns these namespaces is read; undefined: everything. */
  readonly namespaces?: ReadonlySet<string> | undefined;
  /** The namespaces whose limits hold. Default: those of `namespaces`. */
  readonly tenant?: ReadonlySet<string> | undefined;
  /** Takes this way instead of the best one. */
  readonly pushdown?: ExecutionPath | undefined;
  /** The part of the query that nodes which left are looked for in; all of it where it is not said. */
  readonly readsOf?: string;
  /** The query, where its samples are to be counted. */
  readonly countSamples?: () => Expr;
  /** Who waits, where there is a line: nobody waits behind all that another asked. Default: one and the same. */
  readonly caller?: string;
  /** Where its memory comes from, which whoever asks closes. Default: an account of its own, closed with the query. */
  readonly memory?: MemoryAccount | undefined;
  /** Waits at the autoscalers' own gate: queries of people never hold those up. */
  readonly forAutoscaler?: boolean;
}

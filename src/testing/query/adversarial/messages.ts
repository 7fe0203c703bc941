import type { LoopReport } from '../../loop-watch.ts';

/** How an agent process is started, as JSON in its arguments. */
export interface AgentStart {
  readonly node: string;
  readonly address: string;
  readonly port: number;
  readonly dir: string;
  readonly pods: number;
  readonly samples: number;
  /** Bytes that all its shares of queries may hold together. */
  readonly memory: number;
}

/** How the query process is started, as JSON in its arguments. */
export interface QueryStart {
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly agents: readonly { readonly node: string; readonly address: string }[];
  readonly agentPort: number;
  readonly flags: Readonly<Record<string, string>>;
}

/**
 * What a process sends to the stage: that it serves (with its ports) or failed, what its event loop did since the last
 * report, or how long it computed for a request after its client went away or its time was over.
 */
export type FromProcess =
  | { readonly ready: Readonly<Record<string, number>> }
  | { readonly report: LoopReport }
  | { readonly afterCloseMs: number }
  | { readonly failed: string };

/** What the stage sends to a process. */
export type ToProcess = 'report' | 'afterClose' | { readonly afterTimeMs: number } | 'stop';

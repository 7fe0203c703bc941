import type { LoopReport } from '../../loop-watch.ts';

/** The start parameters of an agent process, passed as JSON in its arguments. */
export interface AgentStart {
  readonly node: string;
  readonly address: string;
  readonly port: number;
  readonly dir: string;
  readonly pods: number;
  readonly samples: number;
  /** The most memory that the agent may use for all queries together. Units: bytes. */
  readonly memory: number;
}

/** The start parameters of the query process, passed as JSON in its arguments. */
export interface QueryStart {
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  readonly agents: readonly { readonly node: string; readonly address: string }[];
  readonly agentPort: number;
  readonly flags: Readonly<Record<string, string>>;
}

/**
 * A message of a process to the test that started it: that it serves, with its ports; that it failed; a report on its
 * event loop; or the CPU time that it used for a request after the client went away or the request's time was over.
 */
export type FromProcess =
  | { readonly ready: Readonly<Record<string, number>> }
  | { readonly report: LoopReport }
  | { readonly afterCloseMs: number }
  | { readonly failed: string };

/** A message of the test to a process. */
export type ToProcess = 'report' | 'afterClose' | { readonly afterTimeMs: number } | 'stop';

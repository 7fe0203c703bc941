import type { Clock } from '../../base/clock.ts';
import type { RestClient } from '../../kube/index.ts';
import type { QueryServer } from './connect/query-server.ts';

/** An output stream for text. */
export interface Output {
  write(text: string): void;
  /** Resolves once little of what was written waits for its reader, or none of it will be read; also at an abort. */
  drained(): Promise<void>;
  /** Whether it is a terminal, where colours, graphs and redrawing make sense. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; 80 when it is not one. */
  readonly columns: number;
  readonly rows: number;
}

/** The plugin's access to its process; tests supply their own. */
export interface Host {
  readonly stdout: Output;
  readonly stderr: Output;
  /**
   * All of the standard input as text. Errors: PluginError with the remedy when it has more than `maxBytes`; the
   * signal's reason when that aborts.
   */
  readStdin(maxBytes: number, remedy: string): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at Ctrl-C and at SIGTERM; with ClosedOutputError when the reader of stdout has closed it. */
  readonly signal: AbortSignal;
  /** `kube` and `connect` replace the connections to API server and query server that the flags name. */
  readonly kube?: () => RestClient;
  readonly connect?: () => Promise<QueryServer>;
}

/** Width of tables and graphs that are not written to a terminal, or to one of an unknown size, in characters. */
export const defaultColumns = 80;
export const defaultRows = 24;

import type { Clock } from '../../base/clock.ts';
import type { RestClient } from '../../kube/index.ts';
import type { QueryServer } from './connect/query-server.ts';

/** Where text goes. */
export interface Output {
  write(text: string): void;
  /** A person looks at it: colours, graphs and redrawing make sense. */
  readonly isTerminal: boolean;
  /** Width of the terminal in characters; 80 where there is none. */
  readonly columns: number;
  readonly rows: number;
}

/** What the plugin has of the process around it; tests bring their own. */
export interface Host {
  readonly stdout: Output;
  readonly stderr: Output;
  /** All of the standard input as text. */
  readStdin(): Promise<string>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Aborts at Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  /** In place of what the flags name. */
  readonly kube?: () => RestClient;
  readonly connect?: () => Promise<QueryServer>;
}

/** A width that tables and graphs can be drawn for. */
export const defaultColumns = 80;

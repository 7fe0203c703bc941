import type { InstrumentVersion } from '../../src/capture/index.ts';

/** What the command on the host tells the program in the machine: a file in its root image. */
export interface Orders {
  /** Folder of the programs. */
  readonly programs: string;
  /** The program of the real instrument; null for the stand-in. */
  readonly instrument: string | null;
  /** Its version, which decides what its file looks like. */
  readonly version: InstrumentVersion;
  /** Every wait takes this many times what it takes on this machine's own processors. */
  readonly slowness: number;
  /** Names of groups of checks; empty for all. */
  readonly only: readonly string[];
  /** The product and the workloads go on after the last check. */
  readonly keep: boolean;
  /** The instrument logs at its most talkative level. */
  readonly debug: boolean;
}

/** Name of the only node, and of the agent's pod on it. */
export const nodeName = 'node-1';
export const agentPod = `svc-agent-${nodeName}`;

export type Outcome = 'passed' | 'failed' | 'skipped';

/** What comes back: lines of JSON. */
export type Report =
  | { readonly kind: 'step'; readonly text: string }
  | { readonly kind: 'check'; readonly outcome: Outcome; readonly what: string; readonly seen: string }
  /** The last words of a program, where something failed. */
  | { readonly kind: 'words'; readonly of: string; readonly text: string }
  | { readonly kind: 'end' };

/** Names of the files in the folder of the programs. */
export const programFiles = {
  agent: 'dist/svc/svc.js',
  supervisor: 'dist/svc/supervise.js',
  standIn: 'stand-in.mjs',
  inside: 'inside.mjs',
  orders: 'orders.json',
  node: 'server.mjs',
  client: 'client.mjs',
  calls: 'protocols.mjs',
  python: 'server.py',
  go: 'server-go',
} as const;

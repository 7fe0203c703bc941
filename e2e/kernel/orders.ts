import type { InstrumentVersion } from '../../src/capture/index.ts';

/**
 * Orders that the command on the host gives to the program in the virtual machine, as a file in the machine's root
 * image.
 */
export interface Orders {
  /** Folder of the programs. */
  readonly programs: string;
  /** The program of the real instrument; null for the stand-in. */
  readonly instrument: string | null;
  /** The instrument's version, which decides what its configuration file looks like. */
  readonly version: InstrumentVersion;
  /** The factor for every time limit, relative to a machine that runs on real processors. */
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

/** The reports of the machine: one line of JSON each. */
export type Report =
  | { readonly kind: 'step'; readonly text: string }
  | { readonly kind: 'check'; readonly outcome: Outcome; readonly what: string; readonly seen: string }
  /** The last part of a program's log; sent after a failure. */
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

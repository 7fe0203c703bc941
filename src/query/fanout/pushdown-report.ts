import type { FragmentRequest } from '../../promql/index.ts';

/**
 * How the nodes take part in a query, the highest first: one computes all of it, all send partial states, or their
 * series, or raw chunks alone.
 */
export const executionPaths = ['whole', 'agg', 'series', 'off'] as const;

export type ExecutionPath = (typeof executionPaths)[number];

/** What one agent did for one fragment. Units: milliseconds, bytes. */
export interface FragmentNode {
  readonly node: string;
  readonly rows: number;
  readonly bytes: number;
  readonly samplesRead: number;
  readonly elapsedMs: number;
  readonly waitMs: number;
  readonly evaluateMs: number;
}

/** One fragment of a query, and what became of it. */
export interface FragmentReport {
  readonly mode: FragmentRequest['kind'];
  readonly expr: string;
  readonly op: string | null;
  readonly steps: number;
  /** `pushed`, or why its selectors were read raw instead. */
  outcome: string;
  readonly nodes: FragmentNode[];
  /** Nodes that cannot have a matching series, by the matchers on the node label. */
  readonly pruned: readonly string[];
}

/** A way that was given up, and the agent that gave the reason. */
export interface Fallback {
  readonly from: ExecutionPath;
  readonly to: ExecutionPath;
  readonly node: string | null;
  readonly reason: string;
}

/** What `explain=1` tells. */
export interface PushdownReport {
  /** The way the answer was made; `off` also when nothing in the query could be pushed down. */
  readonly path: ExecutionPath;
  readonly fragments: readonly FragmentReport[];
  readonly fallbacks: readonly Fallback[];
  /** Raw reads: selectors that were fetched as chunks. */
  readonly rawSelectors: number;
}

/** The next lower way. */
export function below(path: ExecutionPath): ExecutionPath {
  return executionPaths[executionPaths.indexOf(path) + 1] ?? 'off';
}

export function fragmentReport(fragment: FragmentRequest, steps: number, pruned: readonly string[]): FragmentReport {
  const { kind, expr, op } = fragment;
  return { mode: kind, expr, op, steps, outcome: 'pushed', nodes: [], pruned };
}

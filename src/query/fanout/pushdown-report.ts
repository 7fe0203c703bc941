import type { FragmentRequest } from '../../promql/index.ts';

/**
 * The paths on which a query can be executed, highest first: one node computes all of it, or all nodes send partial
 * states, series, or raw chunks.
 */
export const executionPaths = ['whole', 'agg', 'series', 'off'] as const;

export type ExecutionPath = (typeof executionPaths)[number];

/** The work of one agent for one fragment, a part of a query that the nodes compute. Units: milliseconds, bytes. */
export interface FragmentNode {
  readonly node: string;
  readonly rows: number;
  readonly bytes: number;
  /** Samples that the agent decoded: `samplesRead` of `QueryStats`. An answer's `stats` counts other samples. */
  readonly samplesDecoded: number;
  readonly elapsedMs: number;
  readonly waitMs: number;
  readonly evaluateMs: number;
}

/** One fragment of a query, and its outcome. */
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

/** A path that was given up, and the agent that caused it. */
export interface Fallback {
  readonly from: ExecutionPath;
  readonly to: ExecutionPath;
  readonly node: string | null;
  readonly reason: string;
}

/** The content of `explain=1`. */
export interface PushdownReport {
  /** The path of the answer; `off` also when nothing in the query could be pushed down. */
  readonly path: ExecutionPath;
  readonly fragments: readonly FragmentReport[];
  readonly fallbacks: readonly Fallback[];
  /** The number of selectors whose samples were fetched as raw chunks. */
  readonly rawSelectors: number;
}

/** The next lower path. */
export function below(path: ExecutionPath): ExecutionPath {
  return executionPaths[executionPaths.indexOf(path) + 1] ?? 'off';
}

export function fragmentReport(fragment: FragmentRequest, steps: number, pruned: readonly string[]): FragmentReport {
  const { kind, expr, op } = fragment;
  return { mode: kind, expr, op, steps, outcome: 'pushed', nodes: [], pruned };
}

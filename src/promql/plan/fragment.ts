import type { PortableAnnotation } from '../annotations.ts';
import type { Column } from '../eval/columns.ts';
import type { EvalSettings } from '../eval/context.ts';
import type { Frame } from '../eval/frame.ts';
import type { GroupRow } from '../eval/aggregate/group-rows.ts';
import type { Aggregator } from '../parser/ast.ts';
import type { SelectRequest } from '../types.ts';

/** The steps a fragment is evaluated at: start, start + step, … (`count` of them). Units: milliseconds. */
export type Steps = Frame;

/**
 * What a node is asked to compute: plain data, ready for any codec.
 * series: `expr` itself; the answer is its series at the steps, each carrying the node's label. agg: `op` over `expr`;
 * the answer is partial states. whole: all that `expr` reads lies on the one node that is asked; the answer is its
 * value, in the order of its evaluation, with whatever labels it has.
 */
export interface FragmentRequest {
  readonly kind: 'series' | 'agg' | 'whole';
  /** Canonical text; durations, `@` and the steps of subqueries are numbers in it, nothing depends on the query's span. */
  readonly expr: string;
  readonly op: Aggregator | null;
  readonly grouping: readonly string[];
  readonly without: boolean;
  /** The k of topk, bottomk and limitk; the label of count_values. */
  readonly param: number | string | null;
  /**
   * For a sum by this label: the node sends rows that differ in it alone as one (see `packRows`). The engine never asks
   * for it, as it would have to unpack what it gets. Default: no label.
   */
  readonly packed?: string;
}

/** How the query is evaluated: a node uses the same settings. */
export type FragmentSettings = EvalSettings;

/**
 * A node's answer.
 * Shape: `columns` for series and whole fragments and for topk, bottomk and limitk (there only what may still be chosen);
 * `groups` for the other aggregations. Every array has one entry a step.
 */
export interface FragmentResult {
  readonly columns: readonly Column[];
  readonly groups: readonly GroupRow[];
  /** Positions are offsets into `expr`; −1 stands for the aggregation around it. */
  readonly annotations: readonly PortableAnnotation[];
  /** Warnings of the node's source, passed on as they are. */
  readonly warnings: readonly string[];
  readonly samplesRead: number;
  /** Series touched for it; 0 from an agent that does not tell. */
  readonly seriesRead: number;
}

/**
 * Runs fragments on the nodes. All results must come from disjoint sets of series, each node's series carrying its own
 * value of the partition label; a node that did not answer is left out as if it had no series.
 */
export interface Distribution {
  readonly partitionLabel: string;
  /** False: the nodes send series, never partial states. Default true. */
  readonly aggregates?: boolean;
  /**
   * True when all that these requests can find lies on one and the same node: then that node can compute the query as a
   * whole. Asked once, of all selectors of a query, before anything is run. Default: never.
   */
  readonly together?: (requests: readonly SelectRequest[]) => boolean;
  /**
   * Answers of all nodes, in any order; null when the fragment is not taken: its series are then read from the source.
   * Where no node answers it is not taken: without any series its value, or a warning, may still be something.
   * Errors: `execution` makes the engine evaluate the subtree from the source, which then tells the query's own error.
   */
  run(
    fragment: FragmentRequest,
    steps: Steps,
    settings: FragmentSettings,
    signal: AbortSignal | undefined,
  ): Promise<readonly FragmentResult[] | null>;
}

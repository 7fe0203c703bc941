import type { PortableAnnotation } from '../annotations.ts';
import type { Column } from '../eval/columns.ts';
import type { EvalSettings } from '../eval/context.ts';
import type { Steps } from '../eval/frame.ts';
import type { GroupRow } from '../eval/aggregate/group-rows.ts';
import type { Aggregator } from '../parser/ast.ts';
import type { SampleCounts, SelectRequest } from '../types.ts';

/** The steps at which a fragment is evaluated: start, start + step, … (`count` of them). Units: milliseconds. */
export type { Steps };

/**
 * The part of a query that nodes compute: plain data, independent of the codec. Its kinds:
 * series: `expr` itself; the answer is its series at the steps, each with the node's label. agg: the aggregation `op`
 * over `expr`; the answer is partial states of its groups. whole: a single node has all series of `expr`; its answer is
 * the value itself, with any labels, in the order of evaluation.
 */
export interface FragmentRequest {
  readonly kind: 'series' | 'agg' | 'whole';
  /**
   * Canonical text; durations, `@` and the steps of subqueries are numbers in it, so it does not depend on the query's
   * span.
   */
  readonly expr: string;
  readonly op: Aggregator | null;
  readonly grouping: readonly string[];
  readonly without: boolean;
  /** The k of topk, bottomk and limitk; the label of count_values. */
  readonly param: number | string | null;
  /**
   * A label by which a sum is grouped: the node sends rows that differ only in this label as one row (see `packRows`).
   * The engine never sets it, because the engine would have to unpack the answer. Default: no label.
   */
  readonly packed?: string;
  /** True when the samples of the query are counted: the node reports the counts of its part. Default false. */
  readonly countSamples?: boolean;
}

/** The settings of the query's evaluation: a node uses the same ones. */
export type FragmentSettings = EvalSettings;

/**
 * A node's answer.
 * Shape: `columns` for series and whole fragments and for topk, bottomk and limitk (there only the candidates);
 * `groups` for the other aggregations. Every array has one entry for each step.
 */
export interface FragmentResult {
  readonly columns: readonly Column[];
  readonly groups: readonly GroupRow[];
  /** Positions are offsets into `expr`; −1 stands for the surrounding aggregation. */
  readonly annotations: readonly PortableAnnotation[];
  /** Warnings of the node's source, passed on as they are. */
  readonly warnings: readonly string[];
  /** How often warnings, of the source too, and infos were raised that the answer leaves out; 0 from earlier versions. */
  readonly omittedWarnings: number;
  readonly omittedInfos: number;
  readonly samplesRead: number;
  /** Series that the node touched; 0 from an agent that does not report them. */
  readonly seriesRead: number;
  /** Set when `countSamples` is requested; absent in the answer of an agent of an earlier version. */
  readonly samples?: SampleCounts | undefined;
  /**
   * Bytes that the distribution has taken from the query's memory for columns and groups; whoever uses these charges
   * them instead, and gives the bytes back in the same step. No part of what a node sends. Default 0.
   */
  readonly heldBytes?: number;
}

/**
 * Runs fragments on the nodes. All results must come from disjoint sets of series: each node's series carry the node's
 * own value of the partition label. A node that did not answer is left out, as if it had no series.
 */
export interface Distribution {
  readonly partitionLabel: string;
  /** False: the nodes send series, never partial states. Default true. */
  readonly aggregates?: boolean;
  /**
   * True when all series that match these requests lie on one and the same node, which can then compute the query as a
   * whole. Called once, with all selectors of a query, before anything is run. Default: never.
   */
  readonly together?: (requests: readonly SelectRequest[]) => boolean;
  /**
   * Answers of all nodes, in any order; null when the fragment is not run: its series are then read from the source. A
   * fragment that no node answers counts as not run, because without any series it may still have a value, or a
   * warning.
   * Errors: `execution` makes the engine evaluate the subtree from the source, which then raises the query's own error.
   */
  run(
    fragment: FragmentRequest,
    steps: Steps,
    settings: FragmentSettings,
    signal: AbortSignal | undefined,
  ): Promise<readonly FragmentResult[] | null>;
}

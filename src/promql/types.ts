/**
 * The public types of the engine: its input (series of one source), its options, and its output (values and
 * annotations). Nothing here depends on HTTP, files, nodes or a store.
 */
import type { Label, Labels } from '../base/text/labels.ts';
import type { TurnTaking } from '../base/turns/turns.ts';
import type { FloatHistogram } from './histogram/float-histogram.ts';

export type { Label, Labels };

/** The comparison of a matcher; the regular expressions are RE2 and fully anchored, dot matches newline. */
export type MatcherType = '=' | '!=' | '=~' | '!~';

/** One condition of a selector. A missing label equals "". */
export interface Matcher {
  readonly type: MatcherType;
  readonly name: string;
  readonly value: string;
}

/**
 * Raw samples of one series in memory.
 * Shape: `timestamps` in strictly rising order (integer milliseconds) and `values` of equal length.
 * A stale marker is a value with the bit pattern 0x7ff0000000000002: copy it as bits (typed-array `set`, `subarray`,
 * `slice`), never through a JS number, because engines canonicalise NaN.
 * `histograms[i]`, where given and not null, makes sample i a native histogram (`values[i]` is then ignored).
 * `startTimestamps[i]`, where given, is when the counter of sample i began (0 = unknown).
 */
export interface Samples {
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
  readonly histograms?: readonly (FloatHistogram | null)[];
  readonly startTimestamps?: Float64Array;
}

/** Decoded samples of a series. */
export interface Series extends Samples {
  readonly labels: Labels;
}

/**
 * A series whose samples are decoded when the engine reads it, one series after the other. Until then they stay in
 * memory in the source's compressed form. `read` may return the same buffers at every call, even for another series:
 * the engine has finished with them before it calls `read` again or gives other work a turn. It may call `read` several
 * times.
 */
export interface DeferredSeries {
  readonly labels: Labels;
  readonly read: () => Samples;
}

/**
 * Hints for the source. Only `mint` and `maxt` of the request determine correctness; a source may ignore every hint.
 * Units: milliseconds. `func` is the innermost function or aggregator around the selector, `range` its window (0 for an
 * instant selector); `grouping` and `by` are set only when an aggregation is the selector's direct parent.
 */
export interface SelectHints {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly range: number;
  readonly func: string;
  readonly grouping: readonly string[];
  readonly by: boolean;
}

/** One selector's request for raw samples: every sample with mint ≤ t ≤ maxt of every matching series. */
export interface SelectRequest {
  readonly matchers: readonly Matcher[];
  readonly mint: number;
  readonly maxt: number;
  readonly hints: SelectHints;
  /** Aborts when the query is cancelled or out of time. */
  readonly signal?: AbortSignal;
}

/** The result of a source. Samples outside [mint, maxt] are allowed and ignored; warnings go into the answer. */
export interface SelectResult {
  readonly series: readonly (Series | DeferredSeries)[];
  /** True when the series are already in label order (`compareLabels`). Default: unknown, the engine checks. */
  readonly sorted?: boolean;
  /**
   * Bytes that the source keeps from this request on until the query ends; they count against the query's limit. Default
   * 0.
   */
  readonly heldBytes?: number;
  readonly warnings?: readonly string[];
}

/** The engine's only input. A rejected promise fails the query with type `internal`. */
export interface SeriesSource {
  select(request: SelectRequest): Promise<SelectResult>;
}

/** Switches of experimental parts, each as in Prometheus. Default: all off. */
export interface LanguageOptions {
  /** Functions and aggregators marked experimental in the function table. */
  readonly experimentalFunctions?: boolean;
  /** `fill`, `fill_left`, `fill_right` on binary operators. */
  readonly fillModifiers?: boolean;
  /** `anchored` and `smoothed` on selectors. */
  readonly extendedRangeSelectors?: boolean;
}

/** Settings of an engine. Units: milliseconds and samples. */
export interface EngineOptions extends LanguageOptions {
  /** How far an instant selector looks back; left-open. Default 300_000. */
  readonly lookbackDeltaMs?: number;
  /**
   * The number of samples, of 16 bytes each, that one query may hold at a time; a buffer counts as the samples that fit
   * into it. A query above the limit fails. Default 50_000_000.
   */
  readonly maxSamples?: number;
  /** Wall time of one query; 0 means no limit of the engine's own. Default 120_000. Needs `monotonic`. */
  readonly timeoutMs?: number;
  /** Monotonic milliseconds. Without it only the caller's signal limits time. */
  readonly monotonic?: () => number;
  /** Step of a subquery that names none. Default: 60_000 for every range. */
  readonly defaultSubqueryStepMs?: (rangeMs: number) => number;
  /** Remove `__name__` only from the final answer instead of at each function. Default false. */
  readonly delayedNameRemoval?: boolean;
  /** Use start timestamps of samples in rate and its relatives. Default false. */
  readonly startTimestamps?: boolean;
  /** Treat `__type__` and `__unit__` as part of a series' identity. Default false. */
  readonly typeAndUnitLabels?: boolean;
  /**
   * Lets other work of the process run between slices of long evaluations. Default: the turns that the whole process
   * shares.
   */
  readonly turns?: TurnTaking;
}

/** One element of an instant answer. Exactly one of `value` (floats) and `histogram` is valid. */
export interface VectorElement {
  readonly labels: Labels;
  readonly timestamp: number;
  readonly value: number;
  readonly histogram?: FloatHistogram;
}

/**
 * One series of a range answer: floats and histograms apart, each in time order.
 * Shape: `timestamps` and `values` of equal length.
 */
export interface MatrixSeries {
  readonly labels: Labels;
  readonly timestamps: Float64Array;
  readonly values: Float64Array;
  readonly histograms: readonly { readonly timestamp: number; readonly histogram: FloatHistogram }[];
}

/** An answer's value. Timestamps are milliseconds. */
export type QueryValue =
  | { readonly type: 'vector'; readonly elements: readonly VectorElement[] }
  | { readonly type: 'matrix'; readonly series: readonly MatrixSeries[] }
  | { readonly type: 'scalar'; readonly timestamp: number; readonly value: number }
  | { readonly type: 'string'; readonly timestamp: number; readonly value: string };

/**
 * The number of samples that a query reads at each of its steps, by the rules of Prometheus 3.15 (`util/stats`).
 * `queryable`: at each step, a selector counts one sample for each visible series, and a function over a range counts
 * its whole window. `read`: of a window, only the samples outside the previous step's window count, and a part of the
 * query that is the same at every step counts once. A native histogram counts as one sample; the series that `info()`
 * looks up do not count.
 */
export interface SampleCounts {
  readonly queryable: Float64Array;
  readonly read: Float64Array;
}

/** The cost of one query. Times need the engine's `monotonic`; without it they are 0. */
export interface QueryStats {
  /** Samples that were decoded: not what `samples` counts. */
  readonly samplesRead: number;
  readonly peakSamples: number;
  /** Time of computing alone, without waiting for the source and the nodes, and without sorting. */
  readonly evaluationMs: number;
  /** Time of sorting the result. */
  readonly sortMs: number;
  /** The samples at each step, if the query counted them. */
  readonly samples?: SampleCounts | undefined;
}

/**
 * A whole answer. Each annotation appears once, with its position in the query (`… (line:col)`): the first 500 different
 * warnings and infos each, or fewer long ones.
 */
export interface QueryResult {
  readonly value: QueryValue;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  /** How often warnings were raised that are not among `warnings`. */
  readonly omittedWarnings: number;
  /** How often infos were raised that are not among `infos`. */
  readonly omittedInfos: number;
  readonly stats: QueryStats;
}

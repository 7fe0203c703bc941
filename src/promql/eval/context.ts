import type { Annotations } from '../annotations.ts';
import type { Position } from '../errors.ts';
import type { Expr, VectorSelector } from '../parser/ast.ts';
import type { SelectRequest } from '../types.ts';
import type { Budget } from './budget.ts';
import type { Column, Value } from './columns.ts';
import type { Frame } from './frame.ts';
import type { RawSeries, SelectedSeries } from './select/raw-series.ts';
import type { Stopwatch } from './run/stopwatch.ts';

/**
 * The settings of an evaluation, with all defaults filled in, as plain data: a node that computes a part of the query
 * uses the same settings. Units: milliseconds.
 */
export interface EvalSettings {
  readonly lookbackDeltaMs: number;
  readonly delayedNameRemoval: boolean;
  readonly startTimestamps: boolean;
  readonly typeAndUnitLabels: boolean;
}

/** The state that all parts of one evaluation share. */
export interface EvalContext {
  readonly settings: EvalSettings;
  readonly budget: Budget;
  readonly annotations: Annotations;
  /** Measures waiting apart from computing: all waits for series and nodes go through it. */
  readonly stopwatch: Stopwatch;
  /** The source's series of a selector; repeated calls return the same promise. */
  readonly series: (selector: VectorSelector) => Promise<readonly SelectedSeries[]>;
  /** True for the part of a query that an agent computes for its node, without the series of other nodes. */
  readonly isShare: boolean;
  /** Expressions whose value is the same at every step. */
  readonly invariant: ReadonlySet<Expr>;
  /**
   * Reads series that no selector of the query names. Each series gets buffers of its own; whoever reads them gives
   * their memory back, a sample for each time.
   */
  readonly select: (request: SelectRequest) => Promise<readonly RawSeries[]>;
  readonly evaluate: (expr: Expr, frame: Frame) => Promise<Value>;
  /** The columns of a subtree that the nodes computed; null, or a promise of null, if this engine must evaluate it. */
  readonly distributed: (expr: Expr, frame: Frame) => Promise<Column[] | null> | null;
  /** True for a subtree that was requested from the nodes. */
  readonly isPart: (expr: Expr) => boolean;
}

/** The position of an expression, for annotations. */
export function positionOf(expr: Expr): Position {
  return { start: expr.start, end: expr.end };
}

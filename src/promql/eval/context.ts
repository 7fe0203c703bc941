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
 * The settings an evaluation works under, all defaults filled in: plain data, also what a node must know to compute a
 * part of the query in the same way. Units: milliseconds.
 */
export interface EvalSettings {
  readonly lookbackDeltaMs: number;
  readonly delayedNameRemoval: boolean;
  readonly startTimestamps: boolean;
  readonly typeAndUnitLabels: boolean;
}

/** What every part of one evaluation shares. */
export interface EvalContext {
  readonly settings: EvalSettings;
  readonly budget: Budget;
  readonly annotations: Annotations;
  /** Knows waiting from computing: whatever waits for series or for nodes waits by it. */
  readonly stopwatch: Stopwatch;
  /** The source's series of a selector; the same promise each time it is asked. */
  readonly series: (selector: VectorSelector) => Promise<readonly SelectedSeries[]>;
  /** True for one node's share of a query: the series of other nodes are not seen here. */
  readonly isShare: boolean;
  /** Expressions whose value is the same at every step. */
  readonly invariant: ReadonlySet<Expr>;
  /** Reads series no selector of the query names, to be kept. */
  readonly select: (request: SelectRequest) => Promise<readonly RawSeries[]>;
  readonly evaluate: (expr: Expr, frame: Frame) => Promise<Value>;
  /** The columns of a subtree that the nodes computed; null, at once or in the end, when it has to be evaluated here. */
  readonly distributed: (expr: Expr, frame: Frame) => Promise<Column[] | null> | null;
}

/** The offsets of a node, for annotations. */
export function positionOf(expr: Expr): Position {
  return { start: expr.start, end: expr.end };
}

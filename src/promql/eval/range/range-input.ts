import type { Labels } from '../../types.ts';
import type { MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import { weightOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import { subqueryFrame, type Frame, type Timing } from '../frame.ts';
import { columnToRange, toRangeSeries, type RangeSeries } from '../select/raw-series.ts';
import { milliseconds, timingOf } from '../resolve.ts';

/** The series of a range argument and the position of its windows. */
export interface RangeInput {
  readonly series: readonly { readonly labels: Labels }[];
  /**
   * The samples of the i-th series; null when the span contains none. They are valid until the next series is opened or
   * other work gets a turn.
   */
  open(i: number): RangeSeries | null;
  readonly range: number;
  readonly timing: Timing;
  readonly extension: 'anchored' | 'smoothed' | null;
  /** Memory held for the series; the caller releases it. */
  readonly held: number;
}

/** Reads the series of a range selector, or evaluates a subquery into such series. */
export async function rangeInput(
  context: EvalContext,
  arg: MatrixSelector | SubqueryExpr,
  frame: Frame,
): Promise<RangeInput> {
  const range = milliseconds(arg.range);
  if (arg.kind === 'matrix') {
    const selected = await context.series(arg.selector);
    const { extension } = arg.selector;
    const open = (i: number): RangeSeries | null => {
      const raw = selected[i]!.open();
      return raw === null ? null : toRangeSeries(raw);
    };
    return { series: selected, open, range, timing: timingOf(arg.selector), extension, held: 0 };
  }
  const { inner, columns } = await evaluateSubquery(context, arg, frame);
  const open = (i: number): RangeSeries => columnToRange(columns[i]!, inner);
  let held = 0;
  for (const column of columns) {
    held += weightOf(column);
    if (context.budget.spend(inner.count)) await context.budget.turn();
  }
  return { series: columns, open, range, timing: timingOf(arg), extension: null, held };
}

/** The inner expression of a subquery at its own steps. */
export async function evaluateSubquery(
  context: EvalContext,
  arg: SubqueryExpr,
  frame: Frame,
): Promise<{ inner: Frame; columns: Column[] }> {
  const range = milliseconds(arg.range);
  const inner = subqueryFrame(frame, timingOf(arg), range, milliseconds(arg.step!));
  if (inner.count === 0) return { inner, columns: [] };
  const value = await context.evaluate(arg.expr, inner);
  return { inner, columns: value.kind === 'vector' ? value.columns : [] };
}

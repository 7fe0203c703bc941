import type { Labels } from '../../types.ts';
import type { MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import { weightOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import { subqueryFrame, type Frame, type Timing } from '../frame.ts';
import type { SampleCounts } from '../../types.ts';
import { countedFrame, countReadsBelow } from '../sample-counts.ts';
import { columnToRange, toRangeSeries, type RangeSeries } from '../select/raw-series.ts';
import { milliseconds, timingOf } from '../resolve.ts';

/** The series of a range argument, such as `x[5m]`, and where the window of each step lies. */
export interface RangeInput {
  readonly series: readonly { readonly labels: Labels }[];
  /**
   * The samples of the i-th series; null when it has none in the time that the windows cover. They are valid until the
   * next series is opened or other work gets a turn.
   */
  open(i: number): RangeSeries | null;
  readonly range: number;
  readonly timing: Timing;
  readonly extension: 'anchored' | 'smoothed' | null;
  /** How much memory of the series is charged to the query's budget. The caller releases this amount. */
  readonly held: number;
  /** For a subquery, the numbers of samples at its own steps, if samples are counted. */
  readonly below?: SampleCounts | undefined;
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
  let held = inner.samples === undefined ? 0 : inner.count;
  for (const column of columns) {
    held += weightOf(column);
    if (context.budget.spend(inner.count)) await context.budget.turn();
  }
  return { series: columns, open, range, timing: timingOf(arg), extension: null, held, below: inner.samples };
}

/** Evaluates the inner expression of a subquery at the subquery's own steps. */
export async function evaluateSubquery(
  context: EvalContext,
  arg: SubqueryExpr,
  frame: Frame,
): Promise<{ inner: Frame; columns: Column[] }> {
  const range = milliseconds(arg.range);
  const timing = timingOf(arg);
  const steps = subqueryFrame(frame, timing, range, milliseconds(arg.step!));
  if (steps.count === 0) return { inner: steps, columns: [] };
  const inner = countedFrame(steps, context.budget, frame.samples !== undefined);
  const value = await context.evaluate(arg.expr, inner);
  countReadsBelow(inner, timing, range, frame);
  return { inner, columns: value.kind === 'vector' ? value.columns : [] };
}

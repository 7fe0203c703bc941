import type { CallExpr, VectorSelector } from '../../parser/ast.ts';
import type { ColumnSink } from '../column-sink.ts';
import { haveOneName } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { streamSelector } from './instant-selector.ts';
import { rangeArgument, streamRangeCall } from '../range/range-call.ts';

/**
 * Evaluates a selector, or a function of a range selector, into a sink: series by series, so that its columns are never
 * in memory together. Returns false, with nothing done, for any other call and for a call that needs all columns
 * together. Assumptions: the nodes have not computed the expression, and its value may differ from step to step.
 */
export async function streamExpression(
  context: EvalContext,
  expr: VectorSelector | CallExpr,
  frame: Frame,
  sink: ColumnSink,
): Promise<boolean> {
  context.budget.check();
  if (expr.kind === 'vector') {
    if (expr.extension === 'smoothed') return false;
    await streamSelector(context, expr, frame, sink);
    return true;
  }
  const arg = rangeArgument(expr);
  if (arg?.kind !== 'matrix' || expr.func.name === 'absent_over_time') return false;
  if (!context.settings.delayedNameRemoval && !haveOneName(await context.series(arg.selector))) return false;
  await streamRangeCall(context, expr, frame, sink);
  return true;
}

import { executionError } from '../../errors.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { countValues } from './count-values.ts';
import { pickSeries } from './pick.ts';
import { quantileAggregate } from './quantile.ts';
import { finishGroups } from './fold.ts';
import { varianceAggregate } from './variance.ts';
import { holdColumns, inLabelOrder, releaseColumns, scalarWeight, type Column, type Value } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import { foldExpression } from './fold-expression.ts';
import type { Frame } from '../frame.ts';
import { isFoldOperator } from './group-rows.ts';

/** Evaluates an aggregation at the steps of a frame. */
export async function evaluateAggregate(context: EvalContext, expr: AggregateExpr, frame: Frame): Promise<Column[]> {
  const { budget } = context;
  const param = expr.param === null ? null : await context.evaluate(expr.param, frame);
  const { op } = expr;
  if (isFoldOperator(op)) {
    const groups = await foldExpression(
      context,
      { op, grouping: expr.grouping, without: expr.without },
      expr.expr,
      frame,
    );
    const folded = await finishGroups(context, { op, expr: expr.expr }, groups, frame);
    await holdColumns(budget, folded);
    for (const group of groups) budget.release(group.weight);
    return folded;
  }
  const inner = await context.evaluate(expr.expr, frame);
  if (inner.kind !== 'vector') throw executionError('aggregation of something that is not an instant vector');
  const { columns } = inner;
  const result = await aggregateColumns(context, expr, param, columns, frame);
  await holdColumns(budget, result);
  await releaseColumns(budget, columns);
  if (param?.kind === 'scalar') budget.release(scalarWeight(frame.count));
  return result;
}

/**
 * Evaluates an aggregation over the columns (series by steps) of its operand, for operators such as `topk`, which have
 * no partial results that can be merged.
 */
export async function aggregateColumns(
  context: EvalContext,
  expr: AggregateExpr,
  param: Value | null,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const scalar = param?.kind === 'scalar' ? param.values : null;
  switch (expr.op) {
    case 'count_values':
      return countValues(context, expr, param?.kind === 'string' ? param.text : '', columns, frame);
    case 'quantile':
      return quantileAggregate(context, expr, scalar!, columns, frame);
    case 'stddev':
    case 'stdvar':
      return varianceAggregate(context, expr, await inLabelOrder(context.budget, columns), frame);
    default:
      return pickSeries(context, expr, scalar!, await inLabelOrder(context.budget, columns), frame);
  }
}

import { quantileOfSorted } from '../../numbers.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { groupColumns } from './grouping.ts';
import { ColumnBuilder, isFloat, type Column } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { warnInvalidQuantile } from '../range/range-notes.ts';
import { sortNumbersInTurns } from './sort-numbers.ts';

/** The quantile of each group at each step. Histograms are ignored, and an info annotation says so. */
export async function quantileAggregate(
  context: EvalContext,
  expr: AggregateExpr,
  params: Float64Array,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  for (const q of extremes(params)) warnInvalidQuantile(context, q, expr.param!);
  const { budget } = context;
  const { groupOf, labels } = await groupColumns(budget, columns, expr.grouping, expr.without);
  const members: Column[][] = labels.map(() => []);
  columns.forEach((column, i) => members[groupOf[i]!]!.push(column));
  if (columns.some((column) => column.histograms !== null)) {
    context.annotations.info('ignored histogram in quantile aggregation', positionOf(expr.expr));
  }
  const result: Column[] = [];
  for (const [g, group] of members.entries()) {
    const builder = new ColumnBuilder(frame.count);
    const scratch = new Float64Array(group.length);
    for (let step = 0; step < frame.count; step++) {
      let n = 0;
      for (const { kinds, values } of group) if (kinds[step] === isFloat) scratch[n++] = values[step]!;
      if (budget.spend(group.length)) await budget.turn();
      if (n === 0) continue;
      const sorted = await sortNumbersInTurns(budget, scratch.subarray(0, n));
      builder.setFloat(step, quantileOfSorted(params[step]!, sorted));
    }
    const dropName = group.some((column) => column.dropName);
    if (builder.points > 0) result.push(builder.build(labels[g]!, dropName));
  }
  return result;
}

/** The values of a parameter that warnings are based on: NaN if it occurs, the largest and the smallest value. */
function extremes(params: Float64Array): number[] {
  const numbers = params.filter((value) => !Number.isNaN(value));
  const found = params.length === numbers.length ? [] : [NaN];
  if (numbers.length > 0)
    found.push(
      numbers.reduce((a, b) => Math.max(a, b)),
      numbers.reduce((a, b) => Math.min(a, b)),
    );
  return found;
}

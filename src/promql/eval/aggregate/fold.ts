import type { AggregateExpr } from '../../parser/ast.ts';
import { foldHistograms } from './fold-histograms.ts';
import { ColumnBuilder, type Column } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { NewHistograms } from '../histogram-work.ts';
import type { FoldOperator, GroupFold } from './group-rows.ts';

/** The finished columns of sum, avg, count, group, min and max: one for each group that is not empty. */
export async function finishGroups(
  context: EvalContext,
  expr: Pick<AggregateExpr, 'expr'> & { readonly op: FoldOperator },
  groups: readonly GroupFold[],
  frame: Frame,
): Promise<Column[]> {
  const { op } = expr;
  const { budget } = context;
  const result: Column[] = [];
  const made = new NewHistograms(budget);
  for (const group of groups) {
    const builder = new ColumnBuilder(frame.count);
    const value = valueOf(op, group);
    if (group.holders.length > 0) {
      await foldHistograms(context, expr, group, value, builder, made);
    } else {
      const { present, sums } = group;
      for (let i = 0; i < frame.count; i++) {
        if (present[i] === 0) continue;
        builder.setFloat(i, value(i));
        const work = sums === null ? 0 : sums.takeWork();
        if (work > 0 && budget.spend(work)) await budget.turn();
      }
      if (group.ignored && (op === 'min' || op === 'max')) {
        context.annotations.info(`ignored histogram in ${op} aggregation`, positionOf(expr.expr));
      }
    }
    if (builder.points > 0) result.push(builder.build(group.labels, group.dropName));
    if (budget.spend(2 * frame.count)) await budget.turn();
  }
  // The caller takes the memory of the columns from the budget.
  made.release();
  return result;
}

function valueOf(op: FoldOperator, group: GroupFold): (step: number) => number {
  switch (op) {
    case 'sum':
      return (step) => group.sums!.sum(step);
    case 'avg':
      return (step) => group.sums!.mean(step);
    case 'count':
      return (step) => group.present[step]!;
    case 'group':
      return () => 1;
    case 'min':
    case 'max':
      return (step) => group.best![step]!;
  }
}

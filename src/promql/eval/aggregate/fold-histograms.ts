import { metricName } from '../../labels.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { inLabelOrder, isHistogram, type ColumnBuilder } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { aggregateHistograms } from '../histogram-notes.ts';
import type { NewHistograms } from '../histogram-work.ts';
import type { GroupFold } from './group-rows.ts';

/**
 * sum and avg of one group that has native histograms at some steps, combined in label order; a step with both
 * histograms and floats has no result.
 */
export async function foldHistograms(
  context: EvalContext,
  expr: Pick<AggregateExpr, 'op' | 'expr'>,
  { holders: members, present, sums }: GroupFold,
  finishFloat: (step: number) => number,
  out: ColumnBuilder,
  made: NewHistograms,
): Promise<void> {
  const { budget } = context;
  const position = positionOf(expr.expr);
  const sorted = await inLabelOrder(budget, members);
  for (let step = 0; step < out.kinds.length; step++) {
    const floats = present[step]! > 0;
    const holders = sorted.filter((column) => column.kinds[step] === isHistogram);
    if (floats && holders.length > 0) {
      context.annotations.warn('encountered a mix of histograms and floats for aggregation', position);
    } else if (floats) out.setFloat(step, finishFloat(step));
    else if (holders.length > 0) {
      const found = holders.map((column) => column.histograms![step]!);
      const metricOf = (i: number): string => metricName(holders[i]!.labels);
      const folded = await aggregateHistograms(
        budget,
        context.annotations,
        expr.op === 'sum' ? 'sum' : 'avg',
        found,
        metricOf,
        position,
      );
      if (folded !== null) made.set(out, step, folded);
    }
    if (budget.spend(sorted.length + (sums?.takeWork() ?? 0))) await budget.turn();
  }
}

import { HistogramMean, HistogramSum, IncompatibleSchemas } from '../../histogram/arithmetic.ts';
import { metricName } from '../../labels.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { inLabelOrder, isHistogram, type Column, type ColumnBuilder } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { tellCombined, tellMixedSchemas } from '../histogram-notes.ts';

/** Work of adding one histogram, in samples. */
const histogramWork = 500;

/**
 * sum and avg of one group that has native histograms at some steps, combined in label order; a step with both
 * histograms and floats has no result.
 */
export async function foldHistograms(
  context: EvalContext,
  expr: Pick<AggregateExpr, 'op' | 'expr'>,
  members: readonly Column[],
  hasFloats: (step: number) => boolean,
  finishFloat: (step: number) => number,
  out: ColumnBuilder,
): Promise<void> {
  const { budget } = context;
  const position = positionOf(expr.expr);
  const sorted = await inLabelOrder(budget, members);
  for (let step = 0; step < out.kinds.length; step++) {
    const floats = hasFloats(step);
    const holders = sorted.filter((column) => column.kinds[step] === isHistogram);
    if (floats && holders.length > 0) {
      context.annotations.warn('encountered a mix of histograms and floats for aggregation', position);
    } else if (floats) out.setFloat(step, finishFloat(step));
    else if (holders.length > 0) foldStep(context, expr, holders, step, out);
    if (budget.spend(sorted.length + holders.length * histogramWork)) await budget.turn();
  }
}

function foldStep(
  context: EvalContext,
  expr: Pick<AggregateExpr, 'op' | 'expr'>,
  holders: readonly Column[],
  step: number,
  out: ColumnBuilder,
): void {
  const position = positionOf(expr.expr);
  const first = holders[0]!.histograms![step]!;
  const acc = expr.op === 'sum' ? new HistogramSum(first) : new HistogramMean(first);
  const hints = new Set(holders.map((column) => column.histograms![step]!.counterReset));
  for (const column of holders.slice(1)) {
    try {
      acc.add(column.histograms![step]!);
    } catch (error) {
      if (!(error instanceof IncompatibleSchemas)) throw error;
      tellMixedSchemas(context.annotations, metricName(column.labels), position);
      return;
    }
  }
  const resetCollision = hints.has('reset') && hints.has('not_reset');
  const notes = { resetCollision, boundsReconciled: acc.boundsReconciled };
  tellCombined(context.annotations, notes, 'aggregation', position);
  out.setHistogram(step, acc.result);
}

import { sameLabelset, sortColumns } from './columns.ts';
import { dropMetadata, labelsKey } from '../labels.ts';
import type { MatrixSelector, SubqueryExpr } from '../parser/ast.ts';
import type { MatrixSeries } from '../types.ts';
import type { EvalContext } from './context.ts';
import { referenceTime, type Frame } from './frame.ts';
import { lowerBound } from './raw-series.ts';
import { rangeInput } from './range/range-call.ts';

/** The raw samples of a range selector, or the points of a subquery, as an instant query shows them. */
export async function instantRange(
  context: EvalContext,
  expr: MatrixSelector | SubqueryExpr,
  frame: Frame,
): Promise<MatrixSeries[]> {
  const { series, range, timing } = await rangeInput(context, expr, frame);
  const end = referenceTime(frame, timing, 0);
  const result: MatrixSeries[] = [];
  for (const one of series) {
    const { times, values } = one.floats;
    const [from, to] = [lowerBound(times, end - range + 1), lowerBound(times, end + 1)];
    const histograms = (one.histograms?.values ?? [])
      .map((histogram, i) => ({ timestamp: one.histograms!.times[i]!, histogram }))
      .filter(({ timestamp }) => timestamp > end - range && timestamp <= end);
    if (from === to && histograms.length === 0) continue;
    context.budget.hold(to - from + histograms.length);
    const labels = one.dropName ? dropMetadata(one.labels) : one.labels;
    result.push({ labels, timestamps: times.slice(from, to), values: values.slice(from, to), histograms });
  }
  if (new Set(result.map(({ labels }) => labelsKey(labels))).size !== result.length) throw sameLabelset();
  return sortColumns(result);
}

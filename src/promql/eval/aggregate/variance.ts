import type { AggregateExpr } from '../../parser/ast.ts';
import { ColumnBuilder, isFloat, leastWeight, scalarWeight, type Column } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { groupColumns } from './grouping.ts';

/** Running state of one group over all steps: Welford's mean and sum of squared deviations. */
class Deviations {
  readonly count: Float64Array;
  readonly mean: Float64Array;
  readonly squares: Float64Array;
  dropName = false;
  hasHistograms = false;

  constructor(steps: number) {
    this.count = new Float64Array(steps);
    this.mean = new Float64Array(steps);
    this.squares = new Float64Array(steps);
  }

  add({ kinds, values }: Column): void {
    const { count, mean, squares } = this;
    for (let i = 0; i < kinds.length; i++) {
      if (kinds[i] !== isFloat) continue;
      const v = values[i]!;
      const n = ++count[i]!;
      if (n === 1) {
        mean[i] = v;
        squares[i] = Number.isFinite(v) ? 0 : NaN;
        continue;
      }
      const delta = v - mean[i]!;
      mean[i]! += delta / n;
      squares[i]! += delta * (v - mean[i]!);
    }
  }
}

/** Computes stddev and stdvar. Values are added in the order of the columns, on which the last digits depend. */
export async function varianceAggregate(
  context: EvalContext,
  expr: AggregateExpr,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const { budget } = context;
  const { groupOf, labels } = await groupColumns(budget, columns, expr.grouping, expr.without);
  const doubles = 3;
  const weight = labels.length * (leastWeight(1, 0) + doubles * scalarWeight(frame.count));
  budget.expect(weight, () => `${labels.length} groups at ${frame.count} steps`);
  budget.hold(weight);
  const groups: Deviations[] = [];
  for (let i = 0; i < labels.length; i++) {
    groups.push(new Deviations(frame.count));
    if (budget.spend(doubles * frame.count)) await budget.turn();
  }
  for (const [c, column] of columns.entries()) {
    const group = groups[groupOf[c]!]!;
    group.dropName ||= column.dropName;
    group.hasHistograms ||= column.histograms !== null;
    group.add(column);
    if (budget.spend(frame.count)) await budget.turn();
  }
  const result: Column[] = [];
  for (const [g, { count, squares, dropName, hasHistograms }] of groups.entries()) {
    const builder = new ColumnBuilder(frame.count);
    for (let i = 0; i < frame.count; i++) {
      if (count[i] === 0) continue;
      const variance = squares[i]! / count[i]!;
      builder.setFloat(i, expr.op === 'stddev' ? Math.sqrt(variance) : variance);
    }
    if (hasHistograms) {
      context.annotations.info(`ignored histogram in ${expr.op} aggregation`, positionOf(expr.expr));
    }
    if (builder.points > 0) result.push(builder.build(labels[g]!, dropName));
    if (budget.spend(2 * frame.count)) await budget.turn();
  }
  budget.release(weight);
  return result;
}

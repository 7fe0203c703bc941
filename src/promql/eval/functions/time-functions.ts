import type { CallExpr, VectorSelector } from '../../parser/ast.ts';
import { Results, settle } from '../settle.ts';
import { ColumnBuilder, absent, weightOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { lookBack } from '../select/instant-selector.ts';
import { timingOf } from '../resolve.ts';
import { nameless } from './elementwise.ts';
import { dropMetadata } from '../../labels.ts';

/** The time of every step. Units: seconds. */
export function stepTimes(frame: Frame): Float64Array {
  return Float64Array.from({ length: frame.count }, (_, i) => (frame.start + i * frame.step) / 1000);
}

/** timestamp() and start_timestamp() of a selector: the time or start time of the newest sample at each step. */
export async function timestampOfSelector(
  context: EvalContext,
  call: CallExpr,
  selector: VectorSelector,
  frame: Frame,
): Promise<Column[]> {
  const wantStart = call.func.name === 'start_timestamp';
  const { budget, settings } = context;
  const isTold = !wantStart || settings.startTimestamps;
  if (!isTold && frame.samples === undefined) return [];
  // Prometheus looks back one millisecond less here; the result differs only for a sample at the end of the lookback.
  const columns: Column[] = [];
  for (const one of await context.series(selector)) {
    const series = one.open();
    if (series === null) continue;
    const builder = new ColumnBuilder(frame.count);
    for (const [step, index] of lookBack(series, timingOf(selector), frame, settings.lookbackDeltaMs).entries()) {
      if (index < 0) continue;
      builder.setFloat(step, (wantStart ? (series.startTimes?.[index] ?? 0) : series.times[index]!) / 1000);
    }
    frame.samples?.addColumn(builder.kinds);
    if (builder.points > 0 && isTold) {
      budget.hold(weightOf(builder));
      columns.push(builder.build(settings.delayedNameRemoval ? series.labels : dropMetadata(series.labels), true));
    }
    if (budget.spend(frame.count + series.times.length)) await budget.turn();
  }
  return settle(context, columns, frame);
}

/** timestamp() of an expression that is not a selector: the time of each step. */
export async function timestampOfSteps(
  context: EvalContext,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  const result = new Results(context, frame);
  for (const column of columns) {
    const builder = new ColumnBuilder(frame.count);
    for (let i = 0; i < frame.count; i++) {
      if (column.kinds[i] !== absent) builder.setFloat(i, (frame.start + i * frame.step) / 1000);
    }
    result.add(builder, nameless(context, column), true);
    if (context.budget.spend(frame.count)) await context.budget.turn();
  }
  return result.settled();
}

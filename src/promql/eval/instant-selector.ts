import type { VectorSelector } from '../parser/ast.ts';
import { ColumnBuilder, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import { referenceTime, type Frame, type Timing } from './frame.ts';
import type { RawSeries } from './raw-series.ts';
import { timingOf } from './resolve.ts';
import { evaluateSmoothed } from './smoothed-selector.ts';

/**
 * Finds the sample an instant selector sees at each step: the newest at or before the reference time and younger than
 * the lookback (left-open), unless it is a stale marker. Calls `found(step, index)` for each step that sees one.
 */
export function lookBack(
  series: RawSeries,
  timing: Timing,
  frame: Frame,
  lookback: number,
  found: (step: number, index: number) => void,
): void {
  const { times, stale } = series;
  let index = -1;
  for (let step = 0; step < frame.count; step++) {
    const reference = referenceTime(frame, timing, step);
    while (index + 1 < times.length && times[index + 1]! <= reference) index++;
    if (index < 0 || times[index]! <= reference - lookback || stale?.[index] === 1) continue;
    found(step, index);
  }
}

/** An instant selector over a frame. */
export async function evaluateSelector(
  context: EvalContext,
  selector: VectorSelector,
  frame: Frame,
): Promise<Column[]> {
  if (selector.extension === 'smoothed') return evaluateSmoothed(context, selector, frame);
  const { budget, settings } = context;
  const timing = timingOf(selector);
  const columns: Column[] = [];
  for (const series of await context.series(selector)) {
    const builder = new ColumnBuilder(frame.count);
    lookBack(series, timing, frame, settings.lookbackDeltaMs, (step, index) => {
      const histogram = series.histograms?.[index] ?? null;
      if (histogram === null) builder.setFloat(step, series.values[index]!);
      else builder.setHistogram(step, histogram);
    });
    if (builder.points > 0) {
      budget.hold(builder.points);
      columns.push(builder.build(series.labels));
    }
    if (budget.spend(frame.count + series.times.length)) await budget.turn();
  }
  return columns;
}

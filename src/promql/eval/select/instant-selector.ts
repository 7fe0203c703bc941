import type { VectorSelector } from '../../parser/ast.ts';
import { ColumnList, nameStays, type ColumnSink } from '../column-sink.ts';
import { leastWeight, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame, Timing } from '../frame.ts';
import { lowerBound, type RawSeries } from './raw-series.ts';
import { timingOf } from '../resolve.ts';
import { evaluateSmoothed } from './smoothed-selector.ts';

/**
 * For each step, the index of the sample that an instant selector returns: the newest one at or before the reference
 * time. The index is −1 if there is none, or if that sample is as old as the lookback or older, or is a stale marker.
 */
export function lookBack({ times, stale }: RawSeries, timing: Timing, frame: Frame, lookback: number): Int32Array {
  const { count } = frame;
  const shown = new Int32Array(count).fill(-1);
  const base = timing.at ?? frame.start;
  const perStep = timing.at === null ? frame.step : 0;
  // Most samples that are read for a single step lie before the visible one, so a binary search finds it faster.
  let index = (count === 1 ? lowerBound(times, base - timing.offset) : 0) - 1;
  for (let step = 0; step < count; step++) {
    const reference = base + step * perStep - timing.offset;
    while (index + 1 < times.length && times[index + 1]! <= reference) index++;
    if (index >= 0 && times[index]! > reference - lookback && stale?.[index] !== 1) shown[step] = index;
  }
  return shown;
}

/** Evaluates an instant selector at the steps of a frame. */
export async function evaluateSelector(
  context: EvalContext,
  selector: VectorSelector,
  frame: Frame,
): Promise<Column[]> {
  if (selector.extension === 'smoothed') return evaluateSmoothed(context, selector, frame);
  const { length } = await context.series(selector);
  context.budget.expect(leastWeight(length, frame.count), () => `${length} series at ${frame.count} steps`);
  const list = new ColumnList(context.budget, frame.count);
  await streamSelector(context, selector, frame, list);
  return list.columns;
}

/** Passes the columns of a selector that is not smoothed to the sink, one after the other. */
export async function streamSelector(
  context: EvalContext,
  selector: VectorSelector,
  frame: Frame,
  sink: ColumnSink,
): Promise<void> {
  const { budget, settings } = context;
  const timing = timingOf(selector);
  const lookback = settings.lookbackDeltaMs;
  for (const one of await context.series(selector)) {
    const series = one.open();
    if (series === null) {
      if (budget.spend(20)) await budget.turn();
      continue;
    }
    const { values, histograms } = series;
    const column = sink.next();
    const shown = lookBack(series, timing, frame, lookback);
    for (let step = 0; step < frame.count; step++) {
      const index = shown[step]!;
      if (index < 0) continue;
      const histogram = histograms === null ? null : histograms[index]!;
      if (histogram === null) column.setFloat(step, values[index]!);
      else column.setHistogram(step, histogram);
    }
    if (column.points > 0) {
      frame.samples?.addColumn(column.kinds);
      const taking = sink.take(column, one.labels, nameStays);
      if (taking !== null) await taking;
    }
    if (budget.spend(20 + frame.count + values.length)) await budget.turn();
  }
}

import type { Position } from '../../errors.ts';
import { usesCustomBuckets } from '../../histogram/buckets.ts';
import { metricName } from '../../labels.ts';
import type { VectorSelector } from '../../parser/ast.ts';
import { ColumnBuilder, weightOf, type Column } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { referenceTime, type Frame } from '../frame.ts';
import { tellMixedSchemas } from '../histogram-notes.ts';
import { NewHistograms, histogramWork } from '../histogram-work.ts';
import { interpolate } from '../range/extended-rate.ts';
import { interpolateHistograms } from '../range/extended-histogram-rate.ts';
import { Window } from '../range/window.ts';
import { lowerBound, toRangeSeries, type RangeSeries } from './raw-series.ts';
import { timingOf } from '../resolve.ts';

/**
 * `x smoothed`: linear interpolation between the samples around each step, within the lookback on both sides; without a
 * later sample the earlier one is carried forward.
 */
export async function evaluateSmoothed(
  context: EvalContext,
  selector: VectorSelector,
  frame: Frame,
): Promise<Column[]> {
  const { budget } = context;
  const columns: Column[] = [];
  const made = new NewHistograms(budget);
  for (const one of await context.series(selector)) {
    const raw = one.open();
    if (raw === null) continue;
    const series = toRangeSeries(raw);
    const builder = new ColumnBuilder(frame.count);
    for (let step = 0; step < frame.count; step++) {
      smoothStep(context, series, positionOf(selector), referenceTime(frame, timingOf(selector), step), step, builder);
      const histogram = builder.histograms?.[step] ?? null;
      if (histogram === null) continue;
      made.hold(histogram);
      // Other work may use the buffers of `raw` meanwhile; a series with histograms has its own (`toRangeSeries`).
      if (budget.spend(histogramWork(histogram))) await budget.turn();
    }
    made.release();
    if (builder.points > 0) {
      budget.hold(weightOf(builder));
      frame.samples?.addColumn(builder.kinds);
      columns.push(builder.build(series.labels));
    }
    if (budget.spend(frame.count + raw.times.length)) await budget.turn();
  }
  return columns;
}

function smoothStep(
  context: EvalContext,
  series: RangeSeries,
  position: Position,
  time: number,
  step: number,
  out: ColumnBuilder,
): void {
  const lookback = context.settings.lookbackDeltaMs;
  const span = (times: Float64Array): { from: number; at: number; to: number } => ({
    from: lowerBound(times, time - lookback + 1),
    at: lowerBound(times, time),
    to: lowerBound(times, time + lookback + 1),
  });
  const { times, values } = series.floats;
  const floats = span(times);
  const held = series.histograms === null ? null : span(series.histograms.times);
  const hasHistograms = held !== null && held.to > held.from;
  if (hasHistograms && floats.to > floats.from) {
    const name = JSON.stringify(metricName(series.labels));
    context.annotations.warn(`encountered a mix of histograms and floats for metric name ${name}`, position);
    return;
  }
  if (hasHistograms) {
    smoothHistograms(context, series, position, time, step, held, out);
    return;
  }
  const { from, at, to } = floats;
  if (at < to && times[at] === time) out.setFloat(step, values[at]!);
  else if (at > from && at < to) {
    const y = interpolate(times[at - 1]!, values[at - 1]!, times[at]!, values[at]!, time, false);
    out.setFloat(step, y);
  } else if (at > from) out.setFloat(step, values[at - 1]!);
}

function smoothHistograms(
  context: EvalContext,
  series: RangeSeries,
  position: Position,
  time: number,
  step: number,
  { from, at, to }: { from: number; at: number; to: number },
  out: ColumnBuilder,
): void {
  const { times, values } = series.histograms!;
  if (at < to && times[at] === time) {
    out.setHistogram(step, values[at]!);
    return;
  }
  if (at <= from) return;
  const before = values[at - 1]!;
  if (at >= to) {
    // The counter-reset hint belongs to the previous sample, not to a value carried forward.
    out.setHistogram(step, { ...before, counterReset: 'unknown' });
    return;
  }
  if (usesCustomBuckets(before) !== usesCustomBuckets(values[at]!)) {
    tellMixedSchemas(context.annotations, metricName(series.labels), position);
    return;
  }
  const isCounter = before.counterReset !== 'gauge' || values[at]!.counterReset !== 'gauge';
  const { annotations, budget: pacing } = context;
  const window = new Window(series, 0, { position, annotations, pacing, extension: 'smoothed' });
  const between = interpolateHistograms(window, at - 1, time, isCounter);
  if (between !== null) out.setHistogram(step, between);
}

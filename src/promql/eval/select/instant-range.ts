import { executionError } from '../../errors.ts';
import { dropMetadata, labelsKey } from '../../labels.ts';
import type { MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import type { MatrixSeries } from '../../types.ts';
import { histogramWeight, keyWork, keyWorkOf, sameLabelset, sortColumns } from '../columns.ts';
import { type EvalContext, positionOf } from '../context.ts';
import { type Frame, referenceTime } from '../frame.ts';
import { extendedBounds } from '../range/extended-bounds.ts';
import { valueAtEnd, valueAtStart } from '../range/extended-rate.ts';
import { rangeInput, type RangeInput } from '../range/range-input.ts';
import { WindowGrid } from '../range/window-grid.ts';
import { Window } from '../range/window.ts';
import { countWindows } from '../sample-counts.ts';
import { lowerBound, type RangeSeries } from './raw-series.ts';

/** The raw samples of a range selector, or the points of a subquery, as the result of an instant query. */
export async function instantRange(
  context: EvalContext,
  expr: MatrixSelector | SubqueryExpr,
  frame: Frame,
): Promise<MatrixSeries[]> {
  const input = await rangeInput(context, expr, frame);
  const end = referenceTime(frame, input.timing, 0);
  const result: MatrixSeries[] = [];
  const grid = new WindowGrid(input.range, input.timing, frame);
  // When the whole query is a subquery, the query's sample statistics count the samples that are read for its points.
  for (const count of input.below?.queryable ?? []) frame.samples!.queryable[0]! += count;
  for (let i = 0; i < input.series.length; i++) {
    const one = input.open(i);
    if (one === null) continue;
    if (expr.kind === 'matrix') countWindows(frame, grid, one, false);
    const { times, values } =
      input.extension === null ? plainFloats(one, input, end) : extended(context, expr, one, input, end);
    const histograms = (one.histograms?.values ?? [])
      .map((histogram, i) => ({ timestamp: one.histograms!.times[i]!, histogram }))
      .filter(({ timestamp }) => timestamp > end - input.range && timestamp <= end);
    if (times.length === 0 && histograms.length === 0) continue;
    context.budget.hold(
      times.length + histograms.reduce((sum, { histogram }) => sum + 1 + histogramWeight(histogram), 0),
    );
    const labels = one.dropName ? dropMetadata(one.labels) : one.labels;
    result.push({ labels, timestamps: times, values, histograms });
    if (context.budget.spend(keyWork + 2 * times.length)) await context.budget.turn();
  }
  context.budget.release(input.held);
  const keys = new Set<string>();
  for (const { labels } of result) {
    keys.add(labelsKey(labels));
    if (context.budget.spend(keyWorkOf(labels))) await context.budget.turn();
  }
  if (keys.size !== result.length) throw sameLabelset();
  return context.stopwatch.sorting(() => sortColumns(context.budget, result));
}

interface Points {
  readonly times: Float64Array;
  readonly values: Float64Array;
}

function plainFloats({ floats }: RangeSeries, { range }: RangeInput, end: number): Points {
  const from = lowerBound(floats.times, end - range + 1);
  const to = lowerBound(floats.times, end + 1);
  return { times: floats.times.slice(from, to), values: floats.values.slice(from, to) };
}

function extended(
  context: EvalContext,
  expr: MatrixSelector | SubqueryExpr,
  series: RangeSeries,
  { range, extension }: RangeInput,
  end: number,
): Points {
  if (series.histograms !== null) throw executionError(`${extension} modifier is not supported with histograms`);
  const lookback = context.settings.lookbackDeltaMs;
  const shared = { position: positionOf(expr), annotations: context.annotations, pacing: context.budget, extension };
  const window = new Window(series, range, shared);
  window.start = end - range;
  window.end = end;
  window.from = lowerBound(window.times, end - range - lookback + 1);
  window.to = lowerBound(window.times, end + (extension === 'smoothed' ? lookback : 0) + 1);
  return extendFloats(window);
}

/** The samples of an anchored or smoothed range, with values at both of its bounds. */
function extendFloats(window: Window): { times: Float64Array; values: Float64Array } {
  const none = { times: new Float64Array(0), values: new Float64Array(0) };
  if (window.floatCount === 0) return none;
  const bounds = extendedBounds(window.times, window.from, window.to, window);
  if (bounds === null) return none;
  let { first, last } = bounds;
  const left = valueAtStart(window, first, false);
  const right = valueAtEnd(window, last, false);
  if (window.times[first]! <= window.start) first++;
  if (window.times[last]! >= window.end) last--;
  const inside = first <= last ? [first, last + 1] : [0, 0];
  return {
    times: Float64Array.from([window.start, ...window.times.slice(inside[0], inside[1]), window.end]),
    values: Float64Array.from([left, ...window.values.slice(inside[0], inside[1]), right]),
  };
}

import { executionError } from '../../errors.ts';
import { metricName } from '../../labels.ts';
import type { CallExpr, MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { absentColumn } from '../absent.ts';
import {
  haveOneName,
  leastWeight,
  refuseDuplicates,
  releaseColumns,
  scalarWeight,
  weightOf,
  type Column,
  type ColumnBuilder,
} from '../columns.ts';
import { ColumnList, type ColumnSink } from '../column-sink.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { refuseTooMuchInWindows } from '../run/estimate.ts';
import { referenceTime, type Frame } from '../frame.ts';
import { NewHistograms, histogramWork } from '../histogram-work.ts';
import { countWindows } from '../sample-counts.ts';
import type { RangeSeries } from '../select/raw-series.ts';
import { rangeInput, type RangeInput } from './range-input.ts';
import { askWhetherCounter, warnInvalidQuantiles } from './range-notes.ts';
import { functionsWith, rangeFunctions, type RangeFunctionEntry } from './table.ts';
import { sweepFor } from './sweeps.ts';
import { WindowGrid } from './window-grid.ts';
import { Window } from './window.ts';

/** The range argument of a function; null for functions without one. */
export function rangeArgument({ func, args }: CallExpr): MatrixSelector | SubqueryExpr | null {
  if (!rangeFunctions.has(func.name)) return null;
  return args.find((arg) => arg.kind === 'matrix' || arg.kind === 'subquery') ?? null;
}

/** Evaluates a call whose argument is a range: rate, …_over_time, changes and the like. */
export async function evaluateRangeCall(context: EvalContext, call: CallExpr, frame: Frame): Promise<Column[]> {
  const { budget } = context;
  const list = new ColumnList(budget, frame.count);
  const series = await streamRangeCall(context, call, frame, list, (count) =>
    budget.expect(leastWeight(count, frame.count), () => `${count} series at ${frame.count} steps`),
  );
  const arg = rangeArgument(call)!;
  if (call.func.name === 'absent_over_time') {
    const column = await absentColumn(context, arg, list.columns, frame, true);
    if (column !== null) budget.hold(weightOf(column));
    await releaseColumns(budget, list.columns);
    return column === null ? [] : [column];
  }
  if (!context.settings.delayedNameRemoval && !(arg.kind === 'matrix' && haveOneName(series))) {
    await refuseDuplicates(budget, list.columns);
  }
  return list.columns;
}

/**
 * Computes the columns of a range function one after the other. Returns the series that were read; `expect` may refuse
 * their number before the first column is computed.
 */
export async function streamRangeCall(
  context: EvalContext,
  call: CallExpr,
  frame: Frame,
  sink: ColumnSink,
  expect?: (series: number) => void,
): Promise<readonly { readonly labels: Labels }[]> {
  const { name } = call.func;
  const entry = rangeFunctions.get(name)!;
  const arg = rangeArgument(call)!;
  const input = await rangeInput(context, arg, frame);
  checkExtension(name, entry, input);
  expect?.(input.series.length);
  const params: Float64Array[] = [];
  for (const other of call.args) {
    if (other === arg) continue;
    const value = await context.evaluate(other, frame);
    if (value.kind === 'scalar') params.push(value.values);
  }
  await computeColumns(context, { call, arg, entry, input, params, frame }, sink);
  context.budget.release(input.held + params.length * scalarWeight(frame.count));
  return input.series;
}

function checkExtension(name: string, entry: RangeFunctionEntry, { extension }: RangeInput): void {
  if (extension === null || entry[extension] === true) return;
  const allowed = functionsWith(extension).join(', ');
  throw executionError(`${extension} modifier can only be used with: ${allowed} - not with ${name}`);
}

/** What is needed to compute one call, except the samples. */
interface PreparedCall {
  readonly call: CallExpr;
  readonly arg: MatrixSelector | SubqueryExpr;
  readonly entry: RangeFunctionEntry;
  readonly input: RangeInput;
  readonly params: readonly Float64Array[];
  readonly frame: Frame;
}

async function computeColumns(context: EvalContext, prepared: PreparedCall, sink: ColumnSink): Promise<void> {
  const { call, arg, entry, input, params, frame } = prepared;
  const { budget, settings } = context;
  const { name } = call.func;
  const asksCounter = name === 'rate' || name === 'increase';
  const reportsQuantile = name === 'quantile_over_time';
  const usesStartTimes = settings.startTimestamps && entry.startTimes === true;
  const sweep = input.extension === null ? sweepFor(name) : null;
  if (sweep === null) refuseTooMuchInWindows(arg, frame, input.series.length);
  const grid = new WindowGrid(input.range, input.timing, frame);
  let lastName: string | null = null;
  for (let i = 0; i < input.series.length; i++) {
    const opened = input.open(i);
    if (opened === null) {
      if (budget.spend(openWork)) await budget.turn();
      continue;
    }
    const { labels, dropName } = opened;
    countWindows(frame, grid, opened, arg.kind === 'subquery');
    const series = usesStartTimes ? opened : withoutStartTimes(opened);
    const column = sink.next();
    let touched = series.floats.times.length;
    let swept = false;
    if (sweep !== null && series.histograms === null && series.floats.startTimes === null) {
      grid.lay(series.floats.times);
      swept = sweep({ values: series.floats.values, grid }, column);
    }
    if (!swept) touched = await computeSteps(context, prepared, series, column);
    if (column.points > 0) {
      if (asksCounter && (lastName === null || metricName(labels) !== lastName)) {
        askWhetherCounter(context, labels, column, arg);
        lastName = column.histograms === null && !settings.typeAndUnitLabels ? metricName(labels) : null;
      }
      if (reportsQuantile) await warnInvalidQuantiles(context, params[0]!, call.args[0]!, column.kinds);
      const drop = entry.keepsName !== true || dropName;
      const taking = sink.take(column, labels, { strip: drop && !settings.delayedNameRemoval, drop });
      if (taking !== null) await taking;
    }
    if (budget.spend(openWork + frame.count + touched)) await budget.turn();
  }
}

/** Number of samples that windows touch between two checks of the clock. */
const touchedPerLook = 10_000;
/** Pacing counts work in samples: one sample in a window counts as this many. */
const windowWork = 4;
/** Opening a series counts as this many samples. */
const openWork = 20;
/** Up to this many steps × samples, a series without histograms is computed without giving other work a turn. */
const computedAtOnce = 1_000_000;

/**
 * Moves a window over all steps. Returns the number of samples touched since the last turn. A long series is copied
 * first, because its buffer may be reused when other work gets a turn; one with histograms has buffers of its own
 * (`toRangeSeries`).
 */
async function computeSteps(
  context: EvalContext,
  { arg, entry, input, params, frame }: PreparedCall,
  series: RangeSeries,
  builder: ColumnBuilder,
): Promise<number> {
  const { extension, range, timing } = input;
  const { annotations, budget } = context;
  const shared = { position: positionOf(arg), annotations, pacing: budget, extension };
  const isLong = series.floats.times.length * frame.count > computedAtOnce;
  const window = new Window(isLong && series.histograms === null ? keptRange(series) : series, range, shared);
  const made = new NewHistograms(budget);
  const lookback = context.settings.lookbackDeltaMs;
  const before = extension === null ? 0 : lookback;
  const after = extension === 'smoothed' ? lookback : 0;
  let touched = 0;
  for (let step = 0; step < frame.count; step++) {
    const end = referenceTime(frame, timing, step);
    const start = end - range;
    window.start = start;
    window.end = end;
    window.time = frame.start + step * frame.step;
    if (params.length > 0) window.params = params.map((values) => values[step]!);
    const { times, histogramTimes } = window;
    while (window.to < times.length && times[window.to]! <= end + after) window.to++;
    while (window.from < window.to && times[window.from]! <= start - before) window.from++;
    while (window.histogramTo < histogramTimes.length && histogramTimes[window.histogramTo]! <= end + after) {
      window.histogramTo++;
    }
    while (window.histogramFrom < window.histogramTo && histogramTimes[window.histogramFrom]! <= start - before) {
      window.histogramFrom++;
    }
    const size = window.floatCount + window.histogramCount;
    if (size === 0) continue;
    touched += size;
    const computed = entry.compute(window);
    if (typeof computed === 'boolean' ? computed : await computed) {
      if (window.histogramResult === null) builder.setFloat(step, window.result);
      else made.set(builder, step, window.histogramResult);
    }
    if (window.histogramCount > 0) {
      const { histograms } = window;
      const [first, last] = [histograms[window.histogramFrom]!, histograms[window.histogramTo - 1]!];
      if (budget.spend(histogramWork(first) + histogramWork(last))) await budget.turn();
    }
    if (isLong && touched > touchedPerLook) {
      if (budget.spend(touched * windowWork)) await budget.turn();
      touched = 0;
    }
  }
  made.release();
  return touched;
}

/** A copy of a range in buffers of its own. */
function keptRange(series: RangeSeries): RangeSeries {
  const { times, values, startTimes } = series.floats;
  const floats = { times: times.slice(), values: values.slice(), startTimes: startTimes?.slice() ?? null };
  return { ...series, floats };
}

function withoutStartTimes(series: RangeSeries): RangeSeries {
  if (series.floats.startTimes === null && (series.histograms?.startTimes ?? null) === null) return series;
  return {
    ...series,
    floats: { ...series.floats, startTimes: null },
    histograms: series.histograms === null ? null : { ...series.histograms, startTimes: null },
  };
}

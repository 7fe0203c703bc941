import { executionError } from '../../errors.ts';
import { formatFloatG } from '../../format.ts';
import { labelValue, metricName, noLabels, setLabel } from '../../labels.ts';
import type { CallExpr, Expr, MatrixSelector, SubqueryExpr } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { ColumnBuilder, absent, haveOneName, refuseDuplicates, weightOf, type Column } from '../columns.ts';
import { ColumnList, type ColumnSink } from '../column-sink.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { referenceTime, subqueryFrame, type Frame, type Timing } from '../frame.ts';
import { columnToRange, toRangeSeries, type RangeSeries, type SelectedSeries } from '../raw-series.ts';
import { milliseconds, timingOf } from '../resolve.ts';
import { functionsWith, rangeFunctions, type RangeFunctionEntry } from './table.ts';
import { sweepFor } from './sweeps.ts';
import { WindowGrid } from './window-grid.ts';
import { Window } from './window.ts';

/** Names a counter may have without raising a question. */
const counterSuffix = /_(?:total|sum|count|bucket)$/;

/** One series of a range argument; its samples count until the next one is opened or other work gets a turn. */
interface OpenableRange {
  readonly labels: Labels;
  readonly dropName: boolean;
  /** null when the span holds no sample. */
  open(): RangeSeries | null;
}

class SelectedRange implements OpenableRange {
  readonly labels: Labels;
  readonly dropName = false;
  readonly #selected: SelectedSeries;

  constructor(selected: SelectedSeries) {
    this.labels = selected.labels;
    this.#selected = selected;
  }

  open(): RangeSeries | null {
    const raw = this.#selected.open();
    return raw === null ? null : toRangeSeries(raw);
  }
}

/** The series of a range argument and how its windows lie. */
export interface RangeInput {
  readonly series: readonly OpenableRange[];
  readonly range: number;
  readonly timing: Timing;
  readonly extension: 'anchored' | 'smoothed' | null;
  /** What the budget holds for the series; whoever is done with them gives it back. */
  readonly held: number;
}

/** Reads the series of a range selector, or evaluates a subquery into such series. */
export async function rangeInput(
  context: EvalContext,
  arg: MatrixSelector | SubqueryExpr,
  frame: Frame,
): Promise<RangeInput> {
  const range = milliseconds(arg.range);
  if (arg.kind === 'matrix') {
    const selected = await context.series(arg.selector);
    const { extension } = arg.selector;
    const series = selected.map((one) => new SelectedRange(one));
    return { series, range, timing: timingOf(arg.selector), extension, held: 0 };
  }
  const { inner, columns } = await evaluateSubquery(context, arg, frame);
  const series = columns.map((column) => ({
    labels: column.labels,
    dropName: column.dropName,
    open: (): RangeSeries => columnToRange(column, inner),
  }));
  const held = columns.reduce((sum, column) => sum + weightOf(column), 0);
  return { series, range, timing: timingOf(arg), extension: null, held };
}

/** The inner expression of a subquery at its own steps. */
export async function evaluateSubquery(
  context: EvalContext,
  arg: SubqueryExpr,
  frame: Frame,
): Promise<{ inner: Frame; columns: Column[] }> {
  const range = milliseconds(arg.range);
  const inner = subqueryFrame(frame, timingOf(arg), range, milliseconds(arg.step!));
  if (inner.count === 0) return { inner, columns: [] };
  const value = await context.evaluate(arg.expr, inner);
  return { inner, columns: value.kind === 'vector' ? value.columns : [] };
}

/** The range a function works on; null where it is no function of a range. */
export function rangeArgument({ func, args }: CallExpr): MatrixSelector | SubqueryExpr | null {
  if (!rangeFunctions.has(func.name)) return null;
  return args.find((arg) => arg.kind === 'matrix' || arg.kind === 'subquery') ?? null;
}

/** A call whose argument is a range: rate, …_over_time, changes and their kin. */
export async function evaluateRangeCall(context: EvalContext, call: CallExpr, frame: Frame): Promise<Column[]> {
  const list = new ColumnList(context.budget, frame.count);
  const series = await streamRangeCall(context, call, frame, list);
  const arg = rangeArgument(call)!;
  if (call.func.name === 'absent_over_time') return absentColumns(context, arg, list.columns, frame);
  if (!context.settings.delayedNameRemoval && !(arg.kind === 'matrix' && haveOneName(series))) {
    refuseDuplicates(list.columns);
  }
  return list.columns;
}

/** The columns of a range function, one after the other. Answers with the series it went over. */
export async function streamRangeCall(
  context: EvalContext,
  call: CallExpr,
  frame: Frame,
  sink: ColumnSink,
): Promise<readonly { readonly labels: Labels }[]> {
  const { name } = call.func;
  const entry = rangeFunctions.get(name)!;
  const arg = rangeArgument(call)!;
  const input = await rangeInput(context, arg, frame);
  checkExtension(name, entry, input);
  const params: Float64Array[] = [];
  for (const other of call.args) {
    if (other === arg) continue;
    const value = await context.evaluate(other, frame);
    if (value.kind === 'scalar') params.push(value.values);
  }
  await computeColumns(context, { call, arg, entry, input, params, frame }, sink);
  context.budget.release(input.held);
  return input.series;
}

function checkExtension(name: string, entry: RangeFunctionEntry, { extension }: RangeInput): void {
  if (extension === null || entry[extension] === true) return;
  const allowed = functionsWith(extension).join(', ');
  throw executionError(`${extension} modifier can only be used with: ${allowed} - not with ${name}`);
}

/** One call with everything it needs but the samples. */
interface PreparedCall {
  readonly call: CallExpr;
  readonly arg: Expr;
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
  const grid = new WindowGrid(input.range, input.timing, frame);
  let lastName: string | null = null;
  for (const one of input.series) {
    const opened = one.open();
    if (opened === null) continue;
    const { labels, dropName } = one;
    const series = usesStartTimes ? opened : withoutStartTimes(opened);
    const column = sink.next();
    let touched: number;
    if (sweep !== null && series.histograms === null && series.floats.startTimes === null) {
      touched = series.floats.times.length;
      grid.lay(series.floats.times);
      sweep({ values: series.floats.values, grid }, column);
    } else touched = computeSteps(context, prepared, series, column);
    if (column.points > 0) {
      if (asksCounter && (lastName === null || metricName(labels) !== lastName)) {
        askWhetherCounter(context, labels, column, arg);
        lastName = column.histograms === null && !settings.typeAndUnitLabels ? metricName(labels) : null;
      }
      if (reportsQuantile) reportQuantiles(context, column, params[0]!, call.args[0]!);
      const drop = entry.keepsName !== true || dropName;
      sink.take(column, labels, { strip: drop && !settings.delayedNameRemoval, drop });
    }
    if (budget.spend(frame.count + touched)) await budget.turn();
  }
}

/** Moves a window over all steps. Returns how many samples were touched. */
function computeSteps(
  context: EvalContext,
  { arg, entry, input, params, frame }: PreparedCall,
  series: RangeSeries,
  builder: ColumnBuilder,
): number {
  const { extension, range, timing } = input;
  const shared = { position: positionOf(arg), annotations: context.annotations, extension };
  const window = new Window(series, range, shared);
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
    if (!entry.compute(window)) continue;
    if (window.histogramResult === null) builder.setFloat(step, window.result);
    else builder.setHistogram(step, window.histogramResult);
  }
  return touched;
}

function withoutStartTimes(series: RangeSeries): RangeSeries {
  if (series.floats.startTimes === null && (series.histograms?.startTimes ?? null) === null) return series;
  return {
    ...series,
    floats: { ...series.floats, startTimes: null },
    histograms: series.histograms === null ? null : { ...series.histograms, startTimes: null },
  };
}

function askWhetherCounter(context: EvalContext, labels: Labels, builder: ColumnBuilder, arg: Expr): void {
  const name = metricName(labels);
  if (name === '' || (builder.histograms !== null && !builder.kinds.includes(1))) return;
  if (context.settings.typeAndUnitLabels) {
    const type = labelValue(labels, '__type__');
    if (type === 'counter' || type === 'histogram') return;
    const wanted = 'metric might not be a counter, __type__ label is not set to "counter" or "histogram"';
    context.annotations.info(`${wanted}, got ${JSON.stringify(type)}: ${JSON.stringify(name)}`, positionOf(arg));
  } else if (!counterSuffix.test(name)) {
    context.annotations.info(
      `metric might not be a counter, name does not end in _total/_sum/_count/_bucket: ${JSON.stringify(name)}`,
      positionOf(arg),
    );
  }
}

function reportQuantiles(context: EvalContext, builder: ColumnBuilder, values: Float64Array, arg: Expr): void {
  for (const [step, q] of values.entries()) {
    if (builder.kinds[step] !== absent) warnInvalidQuantile(context, q, arg);
  }
}

/** Warns about a quantile outside [0, 1]. */
export function warnInvalidQuantile(context: EvalContext, q: number, arg: Expr): void {
  if (q >= 0 && q <= 1) return;
  context.annotations.warn(`quantile value should be between 0 and 1, got ${formatFloatG(q)}`, positionOf(arg));
}

/** 1 at every step where no series has a sample. */
function absentColumns(context: EvalContext, arg: Expr, found: readonly Column[], frame: Frame): Column[] {
  const builder = new ColumnBuilder(frame.count);
  for (let step = 0; step < frame.count; step++) {
    if (found.every((column) => column.kinds[step] === absent)) builder.setFloat(step, 1);
  }
  if (builder.points === 0) return [];
  context.budget.hold(weightOf(builder));
  return [builder.build(labelsOfAbsent(arg), true)];
}

/** The labels an absent result can claim: those its selector demands to be equal to one value. */
export function labelsOfAbsent(arg: Expr): Labels {
  const selector = arg.kind === 'matrix' ? arg.selector : arg;
  if (selector.kind !== 'vector') return noLabels;
  let labels = noLabels;
  const seen = new Set<string>();
  for (const { name, type, value } of selector.matchers) {
    if (name === '__name__') continue;
    labels = setLabel(labels, name, type === '=' && !seen.has(name) ? value : '');
    if (type === '=') seen.add(name);
  }
  return labels;
}

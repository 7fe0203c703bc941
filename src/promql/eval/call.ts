import { executionError } from '../errors.ts';
import { formatOpenMetricsFloat } from '../format.ts';
import { noLabels, setLabel } from '../labels.ts';
import { goMax, goMin } from '../numbers.ts';
import type { CallExpr } from '../parser/ast.ts';
import { absentColumn } from './absent.ts';
import {
  ColumnBuilder,
  absent,
  countPoints,
  holdColumns,
  inLabelOrder,
  isFloat,
  leastWeight,
  releaseColumns,
  scalarWeight,
  type Column,
  type Value,
} from './columns.ts';
import { positionOf, type EvalContext } from './context.ts';
import { settle } from './settle.ts';
import { spansTime, type Frame } from './frame.ts';
import { applyElementwise, calendarFunctions, elementwiseFunctions } from './functions/elementwise.ts';
import { histogramFractions, histogramQuantiles } from './functions/histogram-functions.ts';
import { histogramValues } from './functions/histogram-values.ts';
import { evaluateInfo } from './functions/info.ts';
import { labelJoin, labelReplace } from './functions/label-functions.ts';
import { sortByLabels, sortByValue } from './functions/sorting.ts';
import { stepTimes, timestampOfSelector, timestampOfSteps } from './functions/time-functions.ts';
import { evaluateRangeCall } from './range/range-call.ts';
import { warnInvalidQuantiles } from './range/range-notes.ts';
import { rangeFunctions } from './range/table.ts';

/** The evaluated arguments of a call, by kind and in order. */
interface Arguments {
  columns: Column[];
  readonly scalars: Float64Array[];
  readonly texts: string[];
}

/** Evaluates a function call at the steps of a frame. */
export async function evaluateCall(context: EvalContext, call: CallExpr, frame: Frame): Promise<Value> {
  const { name } = call.func;
  if (rangeFunctions.has(name)) return vector(await evaluateRangeCall(context, call, frame));
  const first = call.args[0];
  if ((name === 'timestamp' || name === 'start_timestamp') && first?.kind === 'vector') {
    return vector(await timestampOfSelector(context, call, first, frame));
  }
  if (name === 'info') return vector(await evaluateInfo(context, call, frame));
  const args = await evaluateArguments(context, call, frame);
  const { budget } = context;
  const scalar = await scalarFunction(context, name, args, frame);
  if (scalar !== null) {
    budget.hold(scalarWeight(frame.count));
    await releaseArguments(context, args, frame);
    return { kind: 'scalar', values: scalar };
  }
  const least = leastWeight(Math.max(1, args.columns.length), frame.count);
  budget.expect(least, () => `${name}() of ${args.columns.length} series at ${frame.count} steps`);
  const columns = await vectorFunction(context, call, args, frame);
  await holdColumns(budget, columns);
  await releaseArguments(context, args, frame);
  return vector(columns);
}

function vector(columns: Column[]): Value {
  return { kind: 'vector', columns };
}

async function releaseArguments({ budget }: EvalContext, args: Arguments, frame: Frame): Promise<void> {
  await releaseColumns(budget, args.columns);
  budget.release(args.scalars.length * scalarWeight(frame.count));
}

/** Evaluating a text or another constant costs as much as this many samples. */
const argumentWork = 100;

async function evaluateArguments(context: EvalContext, call: CallExpr, frame: Frame): Promise<Arguments> {
  const args: Arguments = { columns: [], scalars: [], texts: [] };
  for (const arg of call.args) {
    const value = await context.evaluate(arg, frame);
    if (value.kind === 'vector')
      args.columns = args.columns.length === 0 ? value.columns : args.columns.concat(value.columns);
    else if (value.kind === 'scalar') args.scalars.push(value.values);
    else args.texts.push(value.text);
    if (context.budget.spend(argumentWork)) await context.budget.turn();
  }
  return args;
}

async function scalarFunction(
  context: EvalContext,
  name: string,
  { columns, scalars }: Arguments,
  frame: Frame,
): Promise<Float64Array | null> {
  switch (name) {
    case 'time':
      return stepTimes(frame);
    case 'pi':
      return new Float64Array(frame.count).fill(Math.PI);
    case 'scalar':
      return scalarOf(context, columns, frame);
    case 'max_of':
      return scalars[0]!.map((value, i) => goMax(value, scalars[1]![i]!));
    case 'min_of':
      return scalars[0]!.map((value, i) => goMin(value, scalars[1]![i]!));
    default:
      return null;
  }
}

/** The only float of each step; NaN where there is none or more than one. */
async function scalarOf({ budget }: EvalContext, columns: readonly Column[], frame: Frame): Promise<Float64Array> {
  const values = new Float64Array(frame.count).fill(NaN);
  const seen = new Uint8Array(frame.count);
  for (const column of columns) {
    for (let i = 0; i < frame.count; i++) {
      if (column.kinds[i] !== isFloat) continue;
      values[i] = seen[i] === 0 ? column.values[i]! : NaN;
      seen[i] = 1;
    }
    if (budget.spend(frame.count)) await budget.turn();
  }
  return values;
}

async function vectorFunction(context: EvalContext, call: CallExpr, args: Arguments, frame: Frame): Promise<Column[]> {
  const { name } = call.func;
  const { columns, scalars, texts } = args;
  if (calendarFunctions.has(name) && call.args.length === 0) {
    const found = await applyElementwise(context, name, [constant(stepTimes(frame))], [], frame);
    return found.map((column) => ({ ...column, dropName: false }));
  }
  if (elementwiseFunctions.has(name) || histogramValues.has(name)) {
    return applyElementwise(context, name, columns, scalars, frame);
  }
  switch (name) {
    case 'vector':
      return [constant(scalars[0]!)];
    case 'absent':
      return [await absentColumn(context, call.args[0]!, columns, frame, false)].filter((column) => column !== null);
    case 'label_replace':
      return labelReplace(context, columns, texts);
    case 'label_join':
      return labelJoin(context, columns, texts);
    case 'timestamp':
      return timestampOfSteps(context, columns, frame);
    case 'start_timestamp':
      return [];
    case 'sort':
    case 'sort_desc':
    case 'sort_by_label':
    case 'sort_by_label_desc':
      return sorted(context, call, columns, texts, frame);
    case 'histogram_quantile':
      await warnInvalidQuantiles(context, scalars[0]!, call.args[0]!);
      return histogramQuantiles(context, columns, scalars[0]!, frame, positionOf(call.args[1]!));
    case 'histogram_quantiles':
      return severalQuantiles(context, call, args, frame);
    case 'histogram_fraction':
      return histogramFractions(context, columns, scalars[0]!, scalars[1]!, frame, positionOf(call.args[2]!));
    default:
      throw executionError(`function ${JSON.stringify(name)} is not supported`);
  }
}

function constant(values: Float64Array): Column {
  return {
    labels: noLabels,
    kinds: new Uint8Array(values.length).fill(isFloat),
    values,
    histograms: null,
    dropName: false,
  };
}

async function sorted(
  context: EvalContext,
  call: CallExpr,
  columns: Column[],
  texts: readonly string[],
  frame: Frame,
): Promise<Column[]> {
  const { name } = call.func;
  const { budget } = context;
  const byValue = name === 'sort' || name === 'sort_desc';
  if (spansTime(frame)) {
    context.annotations.warn(
      'sort is ineffective for range queries since results are always ordered by labels',
      positionOf(call),
    );
    if (!byValue) return columns;
    const kept: Column[] = [];
    for (const column of columns) {
      const floats = withoutHistograms(column);
      if (countPoints(floats) > 0) kept.push(floats);
      if (budget.spend(frame.count)) await budget.turn();
    }
    return kept;
  }
  return byValue
    ? sortByValue(budget, await inLabelOrder(budget, columns), name === 'sort_desc')
    : sortByLabels(budget, columns, texts, name.endsWith('_desc'));
}

function withoutHistograms(column: Column): Column {
  if (column.histograms === null) return column;
  const kinds = column.kinds.map((kind) => (kind === isFloat ? isFloat : absent));
  return { ...column, kinds, histograms: null };
}

async function severalQuantiles(
  context: EvalContext,
  call: CallExpr,
  args: Arguments,
  frame: Frame,
): Promise<Column[]> {
  const label = args.texts[0]!;
  const result: Column[] = [];
  for (const [i, quantiles] of args.scalars.entries()) {
    await warnInvalidQuantiles(context, quantiles, call.args[i + 2]!);
    const found = await histogramQuantiles(context, args.columns, quantiles, frame, positionOf(call.args[0]!));
    for (const column of found) {
      for (const [text, part] of splitByText(context, quantiles, column, frame)) {
        result.push({ ...part, labels: setLabel(column.labels, label, text) });
      }
      if (context.budget.spend(10 * frame.count)) await context.budget.turn();
    }
  }
  context.budget.release(leastWeight(result.length, frame.count));
  return settle(context, result, frame);
}

/**
 * Splits a column by the text of the quantile at each step: the text becomes a label, so each text gets a column. The
 * least memory of these columns is charged to the budget.
 */
function splitByText(
  { budget }: EvalContext,
  quantiles: Float64Array,
  column: Column,
  frame: Frame,
): Map<string, Column> {
  const parts = new Map<string, ColumnBuilder>();
  for (let i = 0; i < frame.count; i++) {
    if (column.kinds[i] === absent) continue;
    const text = formatOpenMetricsFloat(quantiles[i]!);
    let builder = parts.get(text);
    if (builder === undefined) {
      budget.hold(leastWeight(1, frame.count));
      parts.set(text, (builder = new ColumnBuilder(frame.count)));
    }
    builder.copy(i, column);
  }
  return new Map([...parts].map(([text, builder]) => [text, builder.build(column.labels, column.dropName)]));
}

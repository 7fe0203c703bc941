import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { dropMetadata } from '../../labels.ts';
import { goMax, goMin } from '../../numbers.ts';
import { Results } from '../settle.ts';
import type { Budget } from '../budget.ts';
import { ColumnBuilder, isFloat, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { histogramWork } from '../histogram-work.ts';
import { calendarFields } from './calendar.ts';
import { histogramValues } from './histogram-values.ts';

/**
 * A float function; `params` are the scalar arguments at the step. NaN is a result like any other: it does not make a
 * step absent.
 */
type Elementwise = (value: number, params: readonly number[]) => number;

/** Functions that JavaScript has under the same name. */
const plain = [
  ...(['abs', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'ceil', 'cos', 'cosh', 'exp', 'floor'] as const),
  ...(['log10', 'log2', 'sin', 'sinh', 'sqrt', 'tan', 'tanh'] as const),
];

/** Date functions, each with its field: `day_of_month` returns `dayOfMonth`. */
const calendar = Object.entries(calendarFields).map(([field, of]) => {
  return { name: field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), of };
});
/** The names of the date functions. Without an argument, these functions use the evaluation time. */
export const calendarFunctions: ReadonlySet<string> = new Set(calendar.map(({ name }) => name));

/** Functions of one float, applied to each element; they drop the metric's name and leave out histograms. */
export const elementwiseFunctions: ReadonlyMap<string, Elementwise> = new Map<string, Elementwise>([
  ...plain.map((name): [string, Elementwise] => [name, Math[name]]),
  ...calendar.map(({ name, of }): [string, Elementwise] => [name, of]),
  ['clamp', (v, [min, max]) => goMax(min!, goMin(max!, v))],
  ['clamp_max', (v, [max]) => goMax(-Infinity, goMin(max!, v))],
  ['clamp_min', (v, [min]) => goMax(min!, goMin(Infinity, v))],
  ['deg', (v) => (v * 180) / Math.PI],
  ['ln', Math.log],
  ['rad', (v) => (v * Math.PI) / 180],
  ['round', (v, [to]) => roundTo(v, to ?? 1)],
  ['sgn', (v) => (v < 0 ? -1 : v > 0 ? 1 : v)],
]);

/** Rounds to a multiple of `to`, halves up; by multiplying with the inverse, which loses fewer digits. */
function roundTo(value: number, to: number): number {
  const inverse = 1 / to;
  return Math.floor(value * inverse + 0.5) / inverse;
}

/** A date function costs as much as reading this many samples. */
const calendarWork = 20;
/** Number of steps of a column between two checks of the clock. */
const stepsAtOnce = 1_000;

/** Applies an element-wise function, or one that reads a number out of each histogram. */
export async function applyElementwise(
  context: EvalContext,
  name: string,
  columns: readonly Column[],
  params: readonly Float64Array[],
  frame: Frame,
): Promise<Column[]> {
  const onFloat = elementwiseFunctions.get(name);
  const onHistogram = histogramValues.get(name);
  const work = calendarFunctions.has(name) ? calendarWork : 1;
  const at: number[] = new Array<number>(params.length).fill(0);
  const result = new Results(context, frame);
  for (const column of columns) {
    const builder = new ColumnBuilder(frame.count);
    for (let from = 0; from < frame.count; from += stepsAtOnce) {
      const to = Math.min(frame.count, from + stepsAtOnce);
      for (let i = from; i < to; i++) {
        if (onFloat === undefined || column.kinds[i] !== isFloat) continue;
        for (let p = 0; p < params.length; p++) at[p] = params[p]![i]!;
        // clamp with a minimum above its maximum has no result at all.
        if (name === 'clamp' && at[1]! < at[0]!) continue;
        builder.setFloat(i, onFloat(column.values[i]!, at));
      }
      if (context.budget.spend(work * (to - from))) await context.budget.turn();
    }
    if (onHistogram !== undefined && column.histograms !== null) {
      await readHistograms(context.budget, column.histograms, onHistogram, builder);
    }
    result.add(builder, nameless(context, column), true);
  }
  return result.settled();
}

/** Reads a number out of each histogram. */
async function readHistograms(
  budget: Budget,
  histograms: readonly (FloatHistogram | null)[],
  read: (histogram: FloatHistogram) => number,
  out: ColumnBuilder,
): Promise<void> {
  for (const [step, histogram] of histograms.entries()) {
    if (histogram === null) continue;
    out.setFloat(step, read(histogram));
    if (budget.spend(histogramWork(histogram))) await budget.turn();
  }
}

/**
 * The labels of a series after a function whose values no longer are those of the metric: without the metric's name,
 * type and unit, unless these are removed only from the final answer (delayed name removal).
 */
export function nameless(context: EvalContext, column: Column): Column['labels'] {
  return context.settings.delayedNameRemoval ? column.labels : dropMetadata(column.labels);
}

import { executionError } from '../errors.ts';
import type { Expr, UnaryExpr } from '../parser/ast.ts';
import { scaleHistogram } from '../histogram/arithmetic.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import { evaluateAggregate } from './aggregate/aggregate.ts';
import { evaluateBinary } from './binary/binary.ts';
import { evaluateUnion } from './binary/union.ts';
import type { Budget } from './budget.ts';
import { evaluateCall } from './call.ts';
import {
  ColumnBuilder,
  absent,
  isHistogram,
  leastWeight,
  mergeDuplicates,
  scalarWeight,
  weightOf,
  type Column,
  type Value,
} from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';
import { nameless } from './functions/elementwise.ts';
import { NewHistograms, histogramWork } from './histogram-work.ts';
import { SampleCounter } from './sample-counter.ts';
import { evaluateSelector } from './select/instant-selector.ts';

/** Evaluates an expression at all steps of a frame. */
export function evaluate(context: EvalContext, expr: Expr, frame: Frame): Promise<Value> {
  return frame.count > 1 && context.invariant.has(expr)
    ? evaluateOnce(context, expr, frame)
    : evaluateNode(context, expr, frame);
}

/** Evaluates an invariant expression at one step, and repeats the value: it is the same at every step. */
async function evaluateOnce(context: EvalContext, expr: Expr, { start, step, count, samples }: Frame): Promise<Value> {
  const counter = samples && new SampleCounter(1);
  const once = await evaluateNode(context, expr, { start, step, count: 1, samples: counter });
  samples?.addInvariant(counter!);
  return repeat(context, once, count);
}

async function evaluateNode(context: EvalContext, expr: Expr, frame: Frame): Promise<Value> {
  context.budget.check();
  const computing = context.distributed(expr, frame);
  const computed = computing === null ? null : await computing;
  if (computed !== null) return { kind: 'vector', columns: computed };
  switch (expr.kind) {
    case 'number':
      return { kind: 'scalar', values: await filled(context, expr.value, frame.count) };
    case 'string':
      return { kind: 'string', text: expr.value };
    case 'paren':
      return evaluate(context, expr.expr, frame);
    case 'vector':
      return { kind: 'vector', columns: await evaluateSelector(context, expr, frame) };
    case 'aggregate':
      return { kind: 'vector', columns: await evaluateAggregate(context, expr, frame) };
    case 'binary':
      return expr.op === 'or' ? evaluateUnion(context, expr, frame) : evaluateBinary(context, expr, frame);
    case 'call':
      return evaluateCall(context, expr, frame);
    case 'unary':
      return evaluateUnary(context, expr, frame);
    case 'matrix':
    case 'subquery':
      throw executionError('a range vector cannot stand alone here');
  }
}

/** A number at every step. The caller releases its memory. */
async function filled({ budget }: EvalContext, value: number, count: number): Promise<Float64Array> {
  budget.hold(scalarWeight(count));
  if (budget.spend(count)) await budget.turn();
  return new Float64Array(count).fill(value);
}

async function evaluateUnary(context: EvalContext, expr: UnaryExpr, frame: Frame): Promise<Value> {
  const value = await evaluate(context, expr.expr, frame);
  if (expr.op === '+' || value.kind === 'string') return value;
  if (value.kind === 'scalar') return { kind: 'scalar', values: value.values.map((v) => -v) };
  const { budget } = context;
  const columns: Column[] = [];
  const made = new NewHistograms(budget);
  for (const column of value.columns) {
    const values = column.values.map((v) => -v);
    const histograms = column.histograms === null ? null : await negated(budget, column.histograms, made);
    columns.push({ ...column, values, histograms, labels: nameless(context, column), dropName: true });
    if (budget.spend(frame.count)) await budget.turn();
  }
  const merged = context.settings.delayedNameRemoval ? columns : await mergeDuplicates(budget, columns);
  made.release();
  return { kind: 'vector', columns: merged };
}

async function negated(
  budget: Budget,
  histograms: readonly (FloatHistogram | null)[],
  made: NewHistograms,
): Promise<(FloatHistogram | null)[]> {
  const result = new Array<FloatHistogram | null>(histograms.length).fill(null);
  for (const [step, histogram] of histograms.entries()) {
    if (histogram === null) continue;
    made.hold((result[step] = scaleHistogram(histogram, -1)));
    if (budget.spend(histogramWork(histogram))) await budget.turn();
  }
  return result;
}

/** Repeats the value of one step at every step. */
async function repeat(context: EvalContext, value: Value, count: number): Promise<Value> {
  if (value.kind === 'string') return value;
  if (value.kind === 'scalar') return { kind: 'scalar', values: await filled(context, value.values[0]!, count) };
  const { budget } = context;
  budget.expect(leastWeight(value.columns.length, count), () => `${value.columns.length} series at ${count} steps`);
  const columns: Column[] = [];
  for (const column of value.columns) {
    const builder = new ColumnBuilder(count);
    if (column.kinds[0] !== absent) {
      for (let i = 0; i < count; i++) {
        if (column.kinds[0] === isHistogram) builder.setHistogram(i, column.histograms![0]!);
        else builder.setFloat(i, column.values[0]!);
      }
    }
    const repeated = builder.build(column.labels, column.dropName);
    budget.hold(weightOf(repeated) - weightOf(column));
    columns.push(repeated);
    if (budget.spend(count)) await budget.turn();
  }
  return { kind: 'vector', columns };
}

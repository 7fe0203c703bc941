import { dropMetadata } from '../../labels.ts';
import { comparisonOperators, setOperators, type BinaryExpr, type Expr } from '../../parser/ast.ts';
import { arithmeticOperator, comparisonOperator, scalarOperator } from './arithmetic.ts';
import {
  ColumnBuilder,
  absent,
  holdColumns,
  inLabelOrder,
  isFloat,
  isHistogram,
  leastWeight,
  releaseColumns,
  scalarWeight,
  type Column,
} from '../columns.ts';
import type { Value } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Element } from './element.ts';
import { elementOperation } from './element-operation.ts';
import type { Frame } from '../frame.ts';
import { histogramWork } from '../histogram-work.ts';
import { keepsOrder } from '../order.ts';
import { setOperation } from './set-operators.ts';
import { matchVectors } from './vector-matching.ts';
import { Results } from '../settle.ts';

/**
 * Evaluates a binary expression of two scalars, of a vector and a scalar, or of two vectors. The operator `or` is
 * evaluated elsewhere (`evaluateUnion`).
 */
export async function evaluateBinary(context: EvalContext, expr: BinaryExpr, frame: Frame): Promise<Value> {
  const left = await context.evaluate(expr.left, frame);
  const right = await context.evaluate(expr.right, frame);
  if (left.kind === 'scalar' && right.kind === 'scalar') {
    const compute = scalarOperator(expr.op);
    const values = left.values.map((value, i) => compute(value, right.values[i]!));
    context.budget.release(scalarWeight(frame.count));
    if (context.budget.spend(frame.count)) await context.budget.turn();
    return { kind: 'scalar', values };
  }
  const inputs = [left, right].flatMap((value) => (value.kind === 'vector' ? value.columns : []));
  let columns: Column[];
  if (left.kind === 'vector' && right.kind === 'vector') {
    // A sorted operand keeps its order; all others are taken in label order, in which conflicts are reported.
    const ordered = async (side: Expr, { columns: all }: { columns: readonly Column[] }): Promise<readonly Column[]> =>
      keepsOrder(side) ? all : inLabelOrder(context.budget, all);
    const [a, b] = [await ordered(expr.left, left), await ordered(expr.right, right)];
    columns = setOperators.has(expr.op)
      ? await setOperation(expr, a, b, frame, context)
      : await matchVectors(context, expr, a, b, frame);
  } else if (left.kind === 'vector' && right.kind === 'scalar') {
    columns = await withScalar(context, expr, left.columns, right.values, false, frame);
  } else {
    columns = await withScalar(
      context,
      expr,
      (right as Value & { kind: 'vector' }).columns,
      (left as Value & { kind: 'scalar' }).values,
      true,
      frame,
    );
  }
  await holdColumns(context.budget, columns);
  await releaseColumns(context.budget, inputs);
  if (left.kind === 'scalar' || right.kind === 'scalar') context.budget.release(scalarWeight(frame.count));
  return { kind: 'vector', columns };
}

/** Combines a vector with a scalar. A comparison keeps the vector's own value, whichever side the vector is on. */
async function withScalar(
  context: EvalContext,
  expr: BinaryExpr,
  columns: readonly Column[],
  scalars: Float64Array,
  scalarIsLeft: boolean,
  frame: Frame,
): Promise<Column[]> {
  const isComparison = comparisonOperators.has(expr.op);
  const changesMeaning = !(isComparison && !expr.returnBool) && expr.op !== '</' && expr.op !== '>/';
  if (!isComparison || expr.returnBool) {
    context.budget.expect(
      leastWeight(columns.length, frame.count),
      () => `${expr.op} of ${columns.length} series at ${frame.count} steps`,
    );
  }
  const result = new Results(context, frame);
  for (const column of columns) {
    const builder = new ColumnBuilder(frame.count);
    if (column.histograms === null && fastScalar(expr, column, scalars, scalarIsLeft, builder)) {
      // done in one loop
    } else await slowScalar(context, expr, column, scalars, scalarIsLeft, builder, result);
    if (context.budget.spend(frame.count)) await context.budget.turn();
    const drop = changesMeaning && !context.settings.delayedNameRemoval;
    const labels = drop ? dropMetadata(column.labels) : column.labels;
    result.add(builder, labels, column.dropName || changesMeaning);
  }
  return result.settled();
}

function fastScalar(
  expr: BinaryExpr,
  { kinds, values }: Column,
  scalars: Float64Array,
  scalarIsLeft: boolean,
  out: ColumnBuilder,
): boolean {
  const compute = arithmeticOperator(expr.op);
  const compare = comparisonOperator(expr.op);
  for (let i = 0; i < kinds.length; i++) {
    if (kinds[i] !== isFloat) continue;
    const v = values[i]!;
    const s = scalars[i]!;
    if (compute !== undefined) out.setFloat(i, scalarIsLeft ? compute(s, v) : compute(v, s));
    else if (compare !== undefined) {
      const holds = scalarIsLeft ? compare(s, v) : compare(v, s);
      if (expr.returnBool) out.setFloat(i, holds ? 1 : 0);
      else if (holds) out.setFloat(i, v);
    } else return false;
  }
  return true;
}

async function slowScalar(
  context: EvalContext,
  expr: BinaryExpr,
  column: Column,
  scalars: Float64Array,
  scalarIsLeft: boolean,
  out: ColumnBuilder,
  result: Results,
): Promise<void> {
  const { budget } = context;
  const operate = elementOperation(context, expr);
  for (let i = 0; i < column.kinds.length; i++) {
    if (column.kinds[i] === absent) continue;
    const element: Element = {
      value: column.values[i]!,
      histogram: column.kinds[i] === isHistogram ? column.histograms![i]! : null,
    };
    const scalar: Element = { value: scalars[i]!, histogram: null };
    const outcome = scalarIsLeft ? operate(scalar, element) : operate(element, scalar);
    if (element.histogram !== null && budget.spend(histogramWork(element.histogram))) await budget.turn();
    if (outcome === null) continue;
    if (expr.returnBool) out.setFloat(i, outcome.keep ? 1 : 0);
    else if (outcome.keep) {
      const kept = comparisonOperators.has(expr.op) ? element : outcome;
      if (kept.histogram !== null) result.setHistogram(out, i, kept.histogram);
      else out.setFloat(i, kept.value);
    }
  }
}

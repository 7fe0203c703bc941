import type { FloatHistogram } from '../histogram/float-histogram.ts';
import type { BinaryExpr } from '../parser/ast.ts';
import { arithmeticOperator, comparisonOperator } from './arithmetic.ts';
import { positionOf, type EvalContext } from './context.ts';
import { histogramOperation } from './histogram-operation.ts';

/** One operand or result: a float, or a histogram where that is not null. */
export interface Element {
  value: number;
  histogram: FloatHistogram | null;
}

/** What an operation on two elements came to: `keep` false is a comparison that failed, null no result at all. */
export type Outcome = { readonly keep: boolean; readonly value: number; readonly histogram: FloatHistogram | null };

/** An operation on two elements of vectors; null where the types do not fit (an annotation tells). */
export type ElementOperation = (left: Element, right: Element) => Outcome | null;

/**
 * The operation of a binary expression on two elements. A comparison keeps the left value.
 */
export function elementOperation(context: EvalContext, expr: BinaryExpr): ElementOperation {
  const compute = arithmeticOperator(expr.op);
  const compare = comparisonOperator(expr.op);
  const onHistograms = histogramOperation(context, expr);
  return (left, right) => {
    if (left.histogram !== null || right.histogram !== null) return onHistograms(left, right);
    if (compute !== undefined) return { keep: true, value: compute(left.value, right.value), histogram: null };
    if (compare !== undefined) {
      return { keep: compare(left.value, right.value), value: left.value, histogram: null };
    }
    tellIncompatible(context, expr, 'float', 'float');
    return null;
  };
}

/** Tells that an operator does not work on these two kinds. */
export function tellIncompatible(context: EvalContext, expr: BinaryExpr, left: string, right: string): void {
  context.annotations.info(
    `incompatible sample types encountered for binary operator ${JSON.stringify(expr.op)}: ${left} ${expr.op} ${right}`,
    positionOf(expr),
  );
}

import type { BinaryExpr } from '../../parser/ast.ts';
import { arithmeticOperator, comparisonOperator } from './arithmetic.ts';
import type { EvalContext } from '../context.ts';
import { tellIncompatible, type ElementOperation } from './element.ts';
import { histogramOperation } from './histogram-operation.ts';

/**
 * The operation of a binary expression on two elements. The result of a comparison that holds is the left value.
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

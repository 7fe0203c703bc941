import {
  IncompatibleSchemas,
  addHistograms,
  compactHistogram,
  divideHistogram,
  scaleHistogram,
  subtractHistograms,
} from '../../histogram/arithmetic.ts';
import { histogramsEqual } from '../../histogram/compare.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { trimHistogram } from '../../histogram/trim.ts';
import type { BinaryExpr } from '../../parser/ast.ts';
import { positionOf, type EvalContext } from '../context.ts';
import { tellIncompatible, type ElementOperation, type Outcome } from './element.ts';
import { tellCombined } from '../histogram-notes.ts';

const kept = (histogram: FloatHistogram): Outcome => ({ keep: true, value: 0, histogram });

/** A binary operation where at least one side is a native histogram. */
export function histogramOperation(context: EvalContext, expr: BinaryExpr): ElementOperation {
  const { op } = expr;
  return (left, right) => {
    const [a, b] = [left.histogram, right.histogram];
    if (a !== null && b !== null) {
      if (op === '==' || op === '!=') {
        return { keep: histogramsEqual(a, b) === (op === '=='), value: 0, histogram: a };
      }
      if (op === '+' || op === '-') return combine(context, expr, a, b);
      tellIncompatible(context, expr, 'histogram', 'histogram');
      return null;
    }
    if (a !== null) {
      if (op === '*') return kept(compactHistogram(scaleHistogram(a, right.value)));
      if (op === '/') return kept(compactHistogram(divideHistogram(a, right.value)));
      if (op === '</') return kept(trimHistogram(a, right.value, true));
      if (op === '>/') return kept(trimHistogram(a, right.value, false));
      tellIncompatible(context, expr, 'histogram', 'float');
      return null;
    }
    if (op === '*') return kept(compactHistogram(scaleHistogram(b!, left.value)));
    tellIncompatible(context, expr, 'float', 'histogram');
    return null;
  };
}

function combine(context: EvalContext, expr: BinaryExpr, a: FloatHistogram, b: FloatHistogram): Outcome | null {
  const adds = expr.op === '+';
  try {
    const { resetCollision, ...combined } = adds ? addHistograms(a, b) : subtractHistograms(a, b);
    // As in Prometheus, where counter resets conflict there is a warning, and neither a result nor another annotation.
    const boundsReconciled = combined.boundsReconciled && !resetCollision;
    const operation = adds ? 'addition' : 'subtraction';
    tellCombined(context.annotations, { resetCollision, boundsReconciled }, operation, positionOf(expr));
    if (resetCollision) return null;
    const histogram = compactHistogram(combined.histogram);
    return kept(adds ? histogram : { ...histogram, counterReset: 'gauge' });
  } catch (error) {
    if (!(error instanceof IncompatibleSchemas)) throw error;
    context.annotations.warn(`incompatible bucket layout encountered for binary operator ${expr.op}`, positionOf(expr));
    return null;
  }
}

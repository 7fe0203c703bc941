import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import type { BinaryExpr } from '../../parser/ast.ts';
import { positionOf, type EvalContext } from '../context.ts';

/** One operand or result: a float, or a histogram where that is not null. */
export interface Element {
  value: number;
  histogram: FloatHistogram | null;
}

/** What an operation on two elements came to: `keep` false is a comparison that failed, null no result at all. */
export type Outcome = { readonly keep: boolean; readonly value: number; readonly histogram: FloatHistogram | null };

/** An operation on two elements of vectors; null where the types do not fit (an annotation tells). */
export type ElementOperation = (left: Element, right: Element) => Outcome | null;

/** Notes that an operator does not work on these two types of samples. */
export function tellIncompatible(context: EvalContext, expr: BinaryExpr, left: string, right: string): void {
  context.annotations.info(
    `incompatible sample types encountered for binary operator ${JSON.stringify(expr.op)}: ${left} ${expr.op} ${right}`,
    positionOf(expr),
  );
}

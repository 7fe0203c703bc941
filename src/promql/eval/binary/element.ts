import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import type { BinaryExpr } from '../../parser/ast.ts';
import { positionOf, type EvalContext } from '../context.ts';

/** One operand or result: a histogram where `histogram` is not null, else a float. */
export interface Element {
  value: number;
  histogram: FloatHistogram | null;
}

/** The outcome of an operation on two elements. `keep` is false for a comparison that is not true. */
export type Outcome = { readonly keep: boolean; readonly value: number; readonly histogram: FloatHistogram | null };

/**
 * An operation on two elements of vectors; null when their sample types are incompatible (an annotation reports it).
 */
export type ElementOperation = (left: Element, right: Element) => Outcome | null;

/** Annotates that an operator does not work on these two sample types. */
export function tellIncompatible(context: EvalContext, expr: BinaryExpr, left: string, right: string): void {
  context.annotations.info(
    `incompatible sample types encountered for binary operator ${JSON.stringify(expr.op)}: ${left} ${expr.op} ${right}`,
    positionOf(expr),
  );
}

import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import type { BinaryExpr } from '../../parser/ast.ts';
import { isHistogram, type Column, type ColumnBuilder } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';

/** One operand or result: a histogram where `histogram` is not null, else a float. */
export interface Element {
  value: number;
  histogram: FloatHistogram | null;
}

/**
 * The outcome of an operation on two elements: `keep` is false for a comparison that is not true, null stands for no
 * result.
 */
export type Outcome = { readonly keep: boolean; readonly value: number; readonly histogram: FloatHistogram | null };

/**
 * An operation on two elements of vectors; null when their sample types are incompatible (an annotation reports it).
 */
export type ElementOperation = (left: Element, right: Element) => Outcome | null;

/** The element of a column at a step at which it has one. */
export function elementAt(column: Column, step: number): Element {
  if (column.kinds[step] === isHistogram) return { value: 0, histogram: column.histograms![step]! };
  return { value: column.values[step]!, histogram: null };
}

/** Writes the outcome of an operation. */
export function setOutcome(out: ColumnBuilder, step: number, { returnBool }: BinaryExpr, outcome: Outcome): void {
  if (returnBool) out.setFloat(step, outcome.keep ? 1 : 0);
  else if (outcome.keep) {
    if (outcome.histogram !== null) out.setHistogram(step, outcome.histogram);
    else out.setFloat(step, outcome.value);
  }
}

/** Annotates that an operator does not work on these two sample types. */
export function tellIncompatible(context: EvalContext, expr: BinaryExpr, left: string, right: string): void {
  context.annotations.info(
    `incompatible sample types encountered for binary operator ${JSON.stringify(expr.op)}: ${left} ${expr.op} ${right}`,
    positionOf(expr),
  );
}

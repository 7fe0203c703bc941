import { power } from '../../numbers.ts';
import type { BinaryOperator } from '../../parser/ast.ts';

/** Two floats in, one out. Comparisons give 1 or 0. */
export type FloatOperator = (a: number, b: number) => number;

const arithmetic: Partial<Record<BinaryOperator, FloatOperator>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
  '^': power,
  atan2: (a, b) => Math.atan2(a, b),
};

const comparisons: Partial<Record<BinaryOperator, (a: number, b: number) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '>': (a, b) => a > b,
  '<': (a, b) => a < b,
  '>=': (a, b) => a >= b,
  '<=': (a, b) => a <= b,
};

/** The function of an arithmetic operator; undefined for other operators. */
export function arithmeticOperator(op: BinaryOperator): FloatOperator | undefined {
  return arithmetic[op];
}

/** The function of a comparison; undefined for other operators. */
export function comparisonOperator(op: BinaryOperator): ((a: number, b: number) => boolean) | undefined {
  return comparisons[op];
}

/** A binary operation on two scalars. */
export function scalarOperator(op: BinaryOperator): FloatOperator {
  const compare = comparisons[op];
  if (compare !== undefined) return (a, b) => (compare(a, b) ? 1 : 0);
  return arithmetic[op]!;
}

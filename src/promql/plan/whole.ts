import { childrenOf, typeOf, type Expr } from '../parser/ast.ts';

/**
 * True for a subtree that a node can compute to its end if all series that its selectors find lie there: an instant
 * vector that reads something. info() is none: it looks for series that no selector names.
 */
export function canBeWhole(expr: Expr): boolean {
  return typeOf(expr) === 'instant vector' && someNode(expr, isSelector) && !someNode(expr, isInfo);
}

const isSelector = (expr: Expr): boolean => expr.kind === 'vector';
const isInfo = (expr: Expr): boolean => expr.kind === 'call' && expr.func.name === 'info';

function someNode(expr: Expr, is: (expr: Expr) => boolean): boolean {
  return is(expr) || childrenOf(expr).some((child) => someNode(child, is));
}

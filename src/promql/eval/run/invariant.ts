import { sharedReference } from './info-reference.ts';
import type { CallExpr, Expr } from '../../parser/ast.ts';
import { atModifierUnsafeFunctions } from '../../parser/functions.ts';

/**
 * Collects the subtrees whose value is the same at every step of the query: all of their parts are pinned by `@` or
 * constant. They are evaluated once. Literals and ranges are left out, since they cost nothing.
 */
export function findInvariant(expr: Expr): Set<Expr> {
  const found = new Set<Expr>();
  visit(expr, found);
  return found;
}

function visit(expr: Expr, found: Set<Expr>): boolean {
  const invariant = isInvariant(expr, found);
  const worthIt =
    expr.kind !== 'number' && expr.kind !== 'string' && expr.kind !== 'matrix' && expr.kind !== 'subquery';
  if (invariant && worthIt) found.add(expr);
  return invariant;
}

function isInvariant(expr: Expr, found: Set<Expr>): boolean {
  switch (expr.kind) {
    case 'number':
    case 'string':
      return true;
    case 'vector':
      return expr.at !== null;
    case 'matrix':
      return expr.selector.at !== null;
    case 'subquery':
      visit(expr.expr, found);
      return expr.at !== null;
    case 'paren':
    case 'unary':
      return visit(expr.expr, found);
    case 'aggregate': {
      const param = expr.param === null || visit(expr.param, found);
      return visit(expr.expr, found) && param;
    }
    case 'binary': {
      const left = visit(expr.left, found);
      return visit(expr.right, found) && left;
    }
    case 'call':
      return isInvariantCall(expr, found);
  }
}

function isInvariantCall(expr: CallExpr, found: Set<Expr>): boolean {
  if (expr.func.name === 'info') {
    // The second argument is only a list of matchers; info series are read at the time that all selectors of the first
    // argument share.
    return visit(expr.args[0]!, found) && sharedReference(expr.args[0]!) !== null;
  }
  const args = expr.args.map((arg) => visit(arg, found));
  const all = args.every(Boolean);
  // timestamp(x @ t) is the sample's own time; timestamp of anything else is the step's.
  if (expr.func.name === 'timestamp' && all && expr.args[0]!.kind === 'vector') return true;
  return all && !atModifierUnsafeFunctions.has(expr.func.name) && expr.args.length > 0;
}

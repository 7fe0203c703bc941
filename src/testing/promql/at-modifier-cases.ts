import {
  childrenOf,
  atModifierUnsafeFunctions,
  parse,
  print,
  type Expr,
  type LanguageOptions,
} from '../../promql/index.ts';

/**
 * Adds `@ timeMs` to every subquery, and to every selector outside of subqueries, that has no `@`. Returns the query
 * and the times at which to evaluate it: every time must give the same answer. Null if a function depends on the
 * evaluation time.
 */
export function atModifierCases(
  query: string,
  timeMs: number,
  options: LanguageOptions,
): { query: string; times: number[] } | null {
  const expr = parse(query, options);
  if (dependsOnTime(expr)) return null;
  const times = timeMs === 0 ? [-1000, 0, 1000] : [-10 * timeMs, 0, Math.trunc(timeMs / 5), timeMs, 10 * timeMs];
  return { query: print(pin(expr, timeMs)), times };
}

function dependsOnTime(expr: Expr): boolean {
  if (expr.kind === 'call' && atModifierUnsafeFunctions.has(expr.func.name)) return true;
  // A subquery with an `@` of its own has fixed steps, which are the evaluation times of everything within it.
  if (expr.kind === 'subquery' && expr.at?.kind === 'time') return false;
  return childrenOf(expr).some(dependsOnTime);
}

function pin(expr: Expr, ms: number): Expr {
  const at = { kind: 'time', ms } as const;
  switch (expr.kind) {
    case 'vector':
      return expr.at?.kind === 'time' ? expr : { ...expr, at };
    case 'matrix':
      return { ...expr, selector: pin(expr.selector, ms) as typeof expr.selector };
    case 'subquery':
      return expr.at?.kind === 'time' ? expr : { ...expr, at };
    case 'paren':
    case 'unary':
      return { ...expr, expr: pin(expr.expr, ms) };
    case 'aggregate':
      return { ...expr, expr: pin(expr.expr, ms), param: expr.param === null ? null : pin(expr.param, ms) };
    case 'binary':
      return { ...expr, left: pin(expr.left, ms), right: pin(expr.right, ms) };
    case 'call':
      return { ...expr, args: expr.args.map((arg) => pin(arg, ms)) };
    default:
      return expr;
  }
}

import {
  childrenOf,
  atModifierUnsafeFunctions,
  parse,
  print,
  type Expr,
  type LanguageOptions,
} from '../../promql/index.ts';

/**
 * The query with `@ timeMs` on every selector and subquery that has none (not inside a subquery that has one), with the
 * times to evaluate it at: its answer must not change. Null where a function depends on the evaluation time.
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
  // The steps of a subquery with an `@` of its own are fixed, and with them the evaluation time of all that it holds.
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

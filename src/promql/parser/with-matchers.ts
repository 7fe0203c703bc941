import type { Matcher } from '../types.ts';
import { childrenOf, type Expr } from './ast.ts';

/** The expression with these matchers added to each of its selectors, so that no part of it reads other series. */
export function withMatchers(expr: Expr, added: readonly Matcher[]): Expr {
  return mapMatchers(expr, (matchers) => [...added, ...matchers]);
}

/** The expression with the matchers of each of its selectors changed. */
export function mapMatchers(expr: Expr, change: (matchers: readonly Matcher[]) => readonly Matcher[]): Expr {
  const inner = (one: Expr): Expr => mapMatchers(one, change);
  switch (expr.kind) {
    case 'vector':
      return { ...expr, matchers: change(expr.matchers) };
    case 'matrix':
      return { ...expr, selector: { ...expr.selector, matchers: change(expr.selector.matchers) } };
    case 'subquery':
    case 'paren':
    case 'unary':
      return { ...expr, expr: inner(expr.expr) };
    case 'aggregate':
      return { ...expr, expr: inner(expr.expr), param: expr.param === null ? null : inner(expr.param) };
    case 'binary':
      return { ...expr, left: inner(expr.left), right: inner(expr.right) };
    case 'call':
      return { ...expr, args: expr.args.map(inner) };
    default:
      return expr;
  }
}

/** The matchers of every selector of an expression. */
export function selectorsOf(expr: Expr): (readonly Matcher[])[] {
  return expr.kind === 'vector' ? [expr.matchers] : childrenOf(expr).flatMap(selectorsOf);
}

import { print, type Expr, type Matcher } from '../../promql/index.ts';

/** The text of a query with a matcher more on each of its selectors. */
export function pinned(expr: Expr, matcher: Matcher): string {
  return print(withMatcher(expr, matcher));
}

function withMatcher(expr: Expr, matcher: Matcher): Expr {
  const inner = (child: Expr): Expr => withMatcher(child, matcher);
  switch (expr.kind) {
    case 'vector':
      return { ...expr, matchers: [...expr.matchers, matcher] };
    case 'matrix':
      return { ...expr, selector: { ...expr.selector, matchers: [...expr.selector.matchers, matcher] } };
    case 'subquery':
    case 'paren':
    case 'unary':
      return { ...expr, expr: inner(expr.expr) };
    case 'aggregate':
      return { ...expr, expr: inner(expr.expr), param: expr.param && inner(expr.param) };
    case 'binary':
      return { ...expr, left: inner(expr.left), right: inner(expr.right) };
    case 'call':
      return { ...expr, args: expr.args.map(inner) };
    default:
      return expr;
  }
}

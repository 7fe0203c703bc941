import { typeOf, type Expr } from '../parser/ast.ts';

const sorting: ReadonlySet<string> = new Set(['sort', 'sort_desc', 'sort_by_label', 'sort_by_label_desc']);

/**
 * True when the order of an instant answer is significant: it comes from a sort function, topk, bottomk or limitk, or
 * from element-wise operations on such a vector. All other instant answers are put in label order.
 */
export function keepsOrder(expr: Expr): boolean {
  switch (expr.kind) {
    case 'paren':
    case 'unary':
      return keepsOrder(expr.expr);
    case 'aggregate':
      return expr.op === 'topk' || expr.op === 'bottomk' || expr.op === 'limitk';
    case 'binary':
      return keepsOrder(expr.left) || keepsOrder(expr.right);
    case 'call':
      if (sorting.has(expr.func.name)) return true;
      return expr.args.some((arg) => typeOf(arg) === 'instant vector' && keepsOrder(arg));
    default:
      return false;
  }
}

import { childrenOf, parse, typeOf, type Expr } from '../../../promql/index.ts';

/**
 * Whether each row of an expression is computed from series of the same label value alone. Where the label is the
 * pod's or the node's name, a row is then whole or absent, whichever nodes are away: no row is too small.
 * Conservative: an expression that it cannot judge is not.
 */
export function isPartitionedBy(query: string, label: string): boolean {
  return keeps(parse(query), label);
}

const crossing = new Set([
  'absent',
  'absent_over_time',
  'scalar',
  'vector',
  'info',
  'label_replace',
  'label_join',
  'histogram_quantiles',
]);

function keeps(expr: Expr, label: string): boolean {
  switch (expr.kind) {
    case 'number':
    case 'string':
    case 'vector':
    case 'matrix':
      return true;
    case 'call':
      return !crossing.has(expr.func.name) && childrenOf(expr).every((child) => keeps(child, label));
    case 'aggregate':
      if (expr.without === expr.grouping.includes(label)) return false;
      return childrenOf(expr).every((child) => keeps(child, label));
    case 'binary': {
      if (!childrenOf(expr).every((child) => keeps(child, label))) return false;
      const oneSided = typeOf(expr.left) === 'scalar' || typeOf(expr.right) === 'scalar';
      return oneSided || expr.matching === null || expr.matching.on === expr.matching.labels.includes(label);
    }
    default:
      return childrenOf(expr).every((child) => keeps(child, label));
  }
}

import { childrenOf, type Expr } from '../../promql/index.ts';

/**
 * Effects of a missing node beyond "less data": one sentence for each part of the query whose meaning depends on absent
 * series. The sentences are added to a degraded answer in addition to the warnings that name the nodes. Pure.
 */
export function absenceWarnings(expr: Expr): string[] {
  const found = new Set<string>();
  visit(expr, found);
  return [...found];
}

function visit(expr: Expr, found: Set<string>): void {
  if (expr.kind === 'call' && ['absent', 'absent_over_time'].includes(expr.func.name))
    found.add(`${expr.func.name}() may be true only because a node is missing`);
  if (expr.kind === 'aggregate' && ['topk', 'bottomk', 'limitk', 'limit_ratio'].includes(expr.op))
    found.add(`${expr.op} chooses among the series of the nodes that answered only`);
  if (expr.kind === 'binary') {
    if (expr.op === '/' && expr.matching)
      found.add('a ratio may lack a node on both sides or on one: it can be too high or too low');
    if (expr.op === 'unless') found.add('unless keeps series whose counterpart may be on a missing node');
    if (['==', '<', '<='].includes(expr.op))
      found.add(`a comparison with ${expr.op} may hold only because a node is missing`);
  }
  for (const child of childrenOf(expr)) visit(child, found);
}

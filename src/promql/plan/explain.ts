import { print } from '../parser/printer.ts';
import type { PlanNode, QueryPlan } from './plan.ts';

/**
 * A plan as text: one line for each fragment (a part of the query that the cluster's nodes compute) and for each
 * operation that the query server computes itself (`here`), with the rule that decided where.
 *
 * ```
 * here : histogram_quantile(0.99, …)  [its groups span nodes]
 *   nodes partial: sum by (le) (rate(x[5m]))  [… partial state: exact expansion …]
 * ```
 */
export function explain({ root }: QueryPlan): string {
  const lines: string[] = [];
  write(root, 0, lines);
  return lines.join('\n');
}

function write({ expr, fragment, reasons, children }: PlanNode, depth: number, lines: string[]): void {
  const where = fragment === null ? 'here ' : 'nodes';
  const what = fragment === null ? '' : ` ${fragment.kind === 'agg' ? 'partial' : fragment.kind}`;
  if (fragment !== null || children.length > 0) {
    lines.push(`${'  '.repeat(depth)}${where}${what}: ${print(expr)}  [${reasons.join('; ')}]`);
  }
  for (const child of children) write(child, depth + 1, lines);
}

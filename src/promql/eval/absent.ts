import { noLabels, setLabel } from '../labels.ts';
import type { Expr } from '../parser/ast.ts';
import type { Labels } from '../types.ts';
import { ColumnBuilder, absent, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';

/**
 * The column of `absent`: 1 at every step where all columns are empty, with the labels implied by the argument; null
 * when there is no such step.
 */
export async function absentColumn(
  { budget }: EvalContext,
  arg: Expr,
  found: readonly Column[],
  frame: Frame,
  dropName: boolean,
): Promise<Column | null> {
  const there = new Uint8Array(frame.count);
  for (const { kinds } of found) {
    for (let step = 0; step < frame.count; step++) if (kinds[step] !== absent) there[step] = 1;
    if (budget.spend(frame.count)) await budget.turn();
  }
  const builder = new ColumnBuilder(frame.count);
  for (let step = 0; step < frame.count; step++) if (there[step] === 0) builder.setFloat(step, 1);
  return builder.points === 0 ? null : builder.build(labelsOfAbsent(arg), dropName);
}

/** The labels of an absent result: those that its selector requires to equal one value. */
function labelsOfAbsent(arg: Expr): Labels {
  const selector = arg.kind === 'matrix' ? arg.selector : arg;
  if (selector.kind !== 'vector') return noLabels;
  let labels = noLabels;
  const seen = new Set<string>();
  for (const { name, type, value } of selector.matchers) {
    if (name === '__name__') continue;
    labels = setLabel(labels, name, type === '=' && !seen.has(name) ? value : '');
    if (type === '=') seen.add(name);
  }
  return labels;
}

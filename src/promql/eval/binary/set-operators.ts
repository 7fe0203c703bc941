import type { BinaryExpr } from '../../parser/ast.ts';
import { ColumnBuilder, absent, bufferWeight, keyWorkOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Labels } from '../../types.ts';
import type { Frame } from '../frame.ts';
import { signatureOf } from './signatures.ts';

/** For each match group, the steps at which a side has any element. */
export type Presence = Map<string, Uint8Array>;

/** Evaluates `and` or `unless`. */
export async function setOperation(
  expr: BinaryExpr,
  left: readonly Column[],
  right: readonly Column[],
  frame: Frame,
  context: EvalContext,
): Promise<Column[]> {
  const signature = signatureOf(expr.matching!);
  const leftKeys = await keysOf(context, left, signature);
  const there: Presence = new Map();
  await addPresence(context, there, right, await keysOf(context, right, signature), frame);
  const kept = await filterByPresence(context, left, leftKeys, there, expr.op === 'and', frame);
  context.budget.release(there.size * bufferWeight(frame.count));
  return kept.columns;
}

/** The match group of each column. */
export async function keysOf(
  { budget }: EvalContext,
  columns: readonly Column[],
  signature: (labels: Labels) => string,
): Promise<string[]> {
  const found: string[] = [];
  for (const { labels } of columns) {
    found.push(signature(labels));
    if (budget.spend(keyWorkOf(labels))) await budget.turn();
  }
  return found;
}

/** Marks the steps at which the columns have elements. The caller releases the memory of the groups. */
export async function addPresence(
  { budget }: EvalContext,
  found: Presence,
  columns: readonly Column[],
  keys: readonly string[],
  frame: Frame,
): Promise<void> {
  for (const [c, column] of columns.entries()) {
    let steps = found.get(keys[c]!);
    if (steps === undefined) {
      budget.hold(bufferWeight(frame.count));
      found.set(keys[c]!, (steps = new Uint8Array(frame.count)));
    }
    for (let i = 0; i < frame.count; i++) if (column.kinds[i] !== absent) steps[i] = 1;
    if (budget.spend(frame.count)) await budget.turn();
  }
}

/**
 * If `wanted`, keeps the elements whose match group is present at their step; otherwise keeps those whose match group
 * is absent. Returns the kept columns, and the match group of each.
 */
export async function filterByPresence(
  { budget }: EvalContext,
  columns: readonly Column[],
  keys: readonly string[],
  groups: Presence,
  wanted: boolean,
  frame: Frame,
): Promise<{ readonly columns: Column[]; readonly keys: string[] }> {
  const kept = { columns: [] as Column[], keys: [] as string[] };
  const keep = (column: Column, key: string): void => {
    kept.columns.push(column);
    kept.keys.push(key);
  };
  for (const [c, column] of columns.entries()) {
    const steps = groups.get(keys[c]!);
    if (steps === undefined) {
      if (!wanted) keep(column, keys[c]!);
      if (budget.spend(1)) await budget.turn();
      continue;
    }
    const builder = new ColumnBuilder(frame.count);
    for (let i = 0; i < frame.count; i++) {
      if (column.kinds[i] !== absent && (steps[i] === 1) === wanted) builder.copy(i, column);
    }
    if (builder.points > 0) keep(builder.build(column.labels, column.dropName), keys[c]!);
    if (budget.spend(frame.count)) await budget.turn();
  }
  return kept;
}

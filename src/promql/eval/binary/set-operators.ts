import type { BinaryExpr } from '../../parser/ast.ts';
import { settle } from '../settle.ts';
import { ColumnBuilder, absent, bufferWeight, keyWork, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { signatureOf } from './signatures.ts';

/** For each match group, the steps at which a side has any element. */
type Presence = Map<string, Uint8Array>;

/** and, or, unless. */
export async function setOperation(
  expr: BinaryExpr,
  left: readonly Column[],
  right: readonly Column[],
  frame: Frame,
  context: EvalContext,
): Promise<Column[]> {
  const signature = signatureOf(expr.matching!);
  const keys = async (columns: readonly Column[]): Promise<string[]> => {
    const found: string[] = [];
    for (const { labels } of columns) {
      found.push(signature(labels));
      if (context.budget.spend(keyWork)) await context.budget.turn();
    }
    return found;
  };
  const [leftKeys, rightKeys] = [await keys(left), await keys(right)];
  if (expr.op === 'or') {
    const taken = await presence(context, left, leftKeys, frame);
    const added = await filter(context, right, rightKeys, taken, false, frame);
    context.budget.release(taken.size * bufferWeight(frame.count));
    return settle(context, [...left, ...added], frame);
  }
  const there = await presence(context, right, rightKeys, frame);
  const kept = await filter(context, left, leftKeys, there, expr.op === 'and', frame);
  context.budget.release(there.size * bufferWeight(frame.count));
  return kept;
}

async function presence(
  { budget }: EvalContext,
  columns: readonly Column[],
  keys: readonly string[],
  frame: Frame,
): Promise<Presence> {
  const found: Presence = new Map();
  for (const [c, column] of columns.entries()) {
    let steps = found.get(keys[c]!);
    if (steps === undefined) {
      budget.hold(bufferWeight(frame.count));
      found.set(keys[c]!, (steps = new Uint8Array(frame.count)));
    }
    for (let i = 0; i < frame.count; i++) if (column.kinds[i] !== absent) steps[i] = 1;
    if (budget.spend(frame.count)) await budget.turn();
  }
  return found;
}

/** The elements whose group is present (or absent) at their step. */
async function filter(
  { budget }: EvalContext,
  columns: readonly Column[],
  keys: readonly string[],
  groups: Presence,
  wanted: boolean,
  frame: Frame,
): Promise<Column[]> {
  const result: Column[] = [];
  for (const [c, column] of columns.entries()) {
    const steps = groups.get(keys[c]!);
    if (steps === undefined) {
      if (!wanted) result.push(column);
      if (budget.spend(1)) await budget.turn();
      continue;
    }
    const builder = new ColumnBuilder(frame.count);
    for (let i = 0; i < frame.count; i++) {
      if (column.kinds[i] !== absent && (steps[i] === 1) === wanted) builder.copy(i, column);
    }
    if (builder.points > 0) result.push(builder.build(column.labels, column.dropName));
    if (budget.spend(frame.count)) await budget.turn();
  }
  return result;
}

import type { BinaryExpr } from '../parser/ast.ts';
import { settle } from './binary.ts';
import { ColumnBuilder, absent, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';
import { signatureOf } from './signatures.ts';

/** Per match group, at which steps a side has any element. */
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
  const keys = (columns: readonly Column[]): string[] => columns.map((column) => signature(column.labels));
  const [leftKeys, rightKeys] = [keys(left), keys(right)];
  if (expr.op === 'or') {
    const taken = await presence(context, left, leftKeys, frame);
    const added = await filter(context, right, rightKeys, taken, false, frame);
    return settle(context, [...left, ...added], frame);
  }
  const there = await presence(context, right, rightKeys, frame);
  return filter(context, left, leftKeys, there, expr.op === 'and', frame);
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
    if (steps === undefined) found.set(keys[c]!, (steps = new Uint8Array(frame.count)));
    for (let i = 0; i < frame.count; i++) if (column.kinds[i] !== absent) steps[i] = 1;
    if (budget.spend(frame.count)) await budget.turn();
  }
  return found;
}

/** The elements whose group is (or is not) present at their step. */
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

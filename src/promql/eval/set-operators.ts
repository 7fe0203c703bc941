import type { BinaryExpr } from '../parser/ast.ts';
import { settle } from './binary.ts';
import { ColumnBuilder, absent, type Column } from './columns.ts';
import type { EvalContext } from './context.ts';
import type { Frame } from './frame.ts';
import { signatureOf } from './signatures.ts';

/** Per match group, at which steps a side has any element. */
type Presence = Map<string, Uint8Array>;

/** and, or, unless. */
export function setOperation(
  expr: BinaryExpr,
  left: readonly Column[],
  right: readonly Column[],
  frame: Frame,
  context: EvalContext,
): Column[] {
  const signature = signatureOf(expr.matching!);
  const keys = (columns: readonly Column[]): string[] => columns.map((column) => signature(column.labels));
  const [leftKeys, rightKeys] = [keys(left), keys(right)];
  if (expr.op === 'or') {
    const taken = presence(left, leftKeys, frame);
    const added = filter(right, rightKeys, taken, false, frame);
    return settle(context, [...left, ...added], frame);
  }
  const there = presence(right, rightKeys, frame);
  return filter(left, leftKeys, there, expr.op === 'and', frame);
}

function presence(columns: readonly Column[], keys: readonly string[], frame: Frame): Presence {
  const found: Presence = new Map();
  columns.forEach((column, c) => {
    let steps = found.get(keys[c]!);
    if (steps === undefined) found.set(keys[c]!, (steps = new Uint8Array(frame.count)));
    for (let i = 0; i < frame.count; i++) if (column.kinds[i] !== absent) steps[i] = 1;
  });
  return found;
}

/** The elements whose group is (or is not) present at their step. */
function filter(
  columns: readonly Column[],
  keys: readonly string[],
  groups: Presence,
  wanted: boolean,
  frame: Frame,
): Column[] {
  const result: Column[] = [];
  columns.forEach((column, c) => {
    const steps = groups.get(keys[c]!);
    if (steps === undefined) {
      if (!wanted) result.push(column);
      return;
    }
    const builder = new ColumnBuilder(frame.count);
    for (let i = 0; i < frame.count; i++) {
      if (column.kinds[i] !== absent && (steps[i] === 1) === wanted) builder.copy(i, column);
    }
    if (builder.points > 0) result.push(builder.build(column.labels, column.dropName));
  });
  return result;
}

import { executionError } from '../../errors.ts';
import { labelsKey, metricName } from '../../labels.ts';
import type { BinaryExpr, Expr, VectorMatching } from '../../parser/ast.ts';
import { bufferWeight, holdColumns, inLabelOrder, joined, keyWorkOf, releaseColumns, weightOf } from '../columns.ts';
import type { Column, Value } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { keepsOrder } from '../order.ts';
import { addPresence, filterByPresence, keysOf, type Presence } from './set-operators.ts';
import { signatureOf } from './signatures.ts';

/**
 * `a or b or c …`, in one pass over the elements of all operands: one `or` after the other would look at the first
 * operand again for each of the others. The answer, its order and its errors are those of the nested operators.
 */
export async function evaluateUnion(context: EvalContext, expr: BinaryExpr, frame: Frame): Promise<Value> {
  const { budget } = context;
  const operands = operandsOf(context, expr, frame);
  const last = operands.length - 1;
  const signature = signatureOf(expr.matching!);
  const taken: Presence = new Map();
  const union = new Union(context, expr.matching!, frame);
  const unsorted = operands.findIndex(keepsOrder);
  // Each `or` puts its left side into label order, unless the order of that side is significant. The operands before
  // the first one with a significant order are therefore in label order together. The last operand is never a left side,
  // so its elements follow all the others.
  const sorted = Math.min(unsorted < 0 ? last : unsorted, last) - 1;
  let head = 0;
  for (const [i, operand] of operands.entries()) {
    const value = await context.evaluate(operand, frame);
    if (value.kind !== 'vector') throw executionError('or of something that is not an instant vector');
    const columns = keepsOrder(operand) ? value.columns : await inLabelOrder(budget, value.columns);
    const keys = await keysOf(context, columns, signature);
    const added = i === 0 ? { columns, keys } : await filterByPresence(context, columns, keys, taken, false, frame);
    if (i < last) await addPresence(context, taken, added.columns, added.keys, frame);
    await holdColumns(budget, added.columns);
    await releaseColumns(budget, value.columns);
    await union.add(added.columns, added.keys);
    if (i === sorted) head = union.columns.length;
  }
  budget.release(taken.size * bufferWeight(frame.count));
  if (sorted < 1) return { kind: 'vector', columns: union.columns };
  const inOrder = await inLabelOrder(budget, union.columns.slice(0, head));
  return { kind: 'vector', columns: [...inOrder, ...union.columns.slice(head)] };
}

/** The operands, from left to right, of nested `or`s with the same matching, each the left side of the next. */
function operandsOf(context: EvalContext, expr: BinaryExpr, frame: Frame): Expr[] {
  const operands = [expr.right];
  let { left } = expr;
  while (
    left.kind === 'binary' &&
    left.op === 'or' &&
    matchesAlike(left.matching!, expr.matching!) &&
    !context.isPart(left) &&
    !(frame.count > 1 && context.invariant.has(left))
  ) {
    operands.push(left.right);
    ({ left } = left);
  }
  operands.push(left);
  return operands.reverse();
}

function matchesAlike(a: VectorMatching, b: VectorMatching): boolean {
  return a.on === b.on && a.labels.length === b.labels.length && a.labels.every((name, i) => name === b.labels[i]);
}

/** The columns of a union. Columns with equal labels are joined as in `settle`. */
class Union {
  readonly columns: Column[] = [];
  readonly #context: EvalContext;
  /** The index in `columns` of each label set; null when equal series stay separate. */
  readonly #places: Map<string, number> | null;
  /** True when the match key of a series without a metric name equals the key of its labels. */
  readonly #matchesAll: boolean;

  constructor(context: EvalContext, { on, labels }: VectorMatching, frame: Frame) {
    this.#context = context;
    this.#places = context.settings.delayedNameRemoval && frame.count === 1 ? null : new Map();
    this.#matchesAll = !on && labels.length === 0;
  }

  /**
   * Adds columns, whose memory is charged to the budget already, and the keys of their match groups. Errors: as for
   * `joined`.
   */
  async add(columns: readonly Column[], keys: readonly string[]): Promise<void> {
    const { budget } = this.#context;
    const places = this.#places;
    for (const [i, column] of columns.entries()) {
      if (places === null) {
        this.columns.push(column);
        continue;
      }
      const isSame = this.#matchesAll && metricName(column.labels) === '';
      const key = isSame ? keys[i]! : labelsKey(column.labels);
      const place = places.get(key);
      if (place === undefined) {
        places.set(key, this.columns.length);
        this.columns.push(column);
      } else {
        const known = this.columns[place]!;
        const both = joined(known, column);
        budget.hold(weightOf(both));
        budget.release(weightOf(known) + weightOf(column));
        this.columns[place] = both;
      }
      if (budget.spend(keyWorkOf(column.labels))) await budget.turn();
    }
  }
}

import { executionError } from '../../errors.ts';
import { formatFloatG } from '../../format.ts';
import { textLength } from '../../labels.ts';
import type { AggregateExpr } from '../../parser/ast.ts';
import { groupColumns } from './grouping.ts';
import { ColumnBuilder, absent, isHistogram, keyWork, leastWeight, type Column } from '../columns.ts';
import { positionOf, type EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { labelsFraction } from './labels-hash.ts';
import { ValueHeap, type HeapItem } from './value-heap.ts';

/** Pushing an element onto a heap, or popping it, costs as much as reading this many samples. */
const pickWork = 20;

/** Hashing one character of labels costs as much as reading this many samples. */
const hashWork = 5;

const maxInt64 = 2 ** 63;

/** topk, bottomk, limitk and limit_ratio: some of the input series, unchanged. */
export async function pickSeries(
  context: EvalContext,
  expr: AggregateExpr,
  params: Float64Array,
  columns: readonly Column[],
  frame: Frame,
): Promise<Column[]> {
  if (!checkParams(context, expr, params)) return [];
  const { budget } = context;
  const { groupOf, labels } = await groupColumns(budget, columns, expr.grouping, expr.without);
  const pick = expr.op === 'limit_ratio' ? byRatio(context, columns) : byCount(context, expr, columns);
  const weight = leastWeight(1, frame.count);
  const builders = new Map<number, ColumnBuilder>();
  // The order of an instant answer: groups as they appear, best first within them.
  const order: number[] = [];
  for (let step = 0; step < frame.count; step++) {
    for (const members of await pick(step, params[step]!, groupOf, labels.length)) {
      for (const index of members) {
        let builder = builders.get(index);
        if (builder === undefined) {
          budget.hold(weight);
          builders.set(index, (builder = new ColumnBuilder(frame.count)));
          order.push(index);
        }
        builder.copy(step, columns[index]!);
        if (budget.spend(pickWork)) await budget.turn();
      }
    }
    if (budget.spend(columns.length)) await budget.turn();
  }
  budget.release(builders.size * weight);
  return order.map((index) => builders.get(index)!.build(columns[index]!.labels, columns[index]!.dropName));
}

/** Checks the parameters. False when nothing can be picked at any step. */
function checkParams(context: EvalContext, expr: AggregateExpr, params: Float64Array): boolean {
  const numbers = params.filter((value) => !Number.isNaN(value));
  const max = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
  const min = numbers.reduce((a, b) => Math.min(a, b), Infinity);
  const hasNaN = numbers.length < params.length;
  if (expr.op === 'limit_ratio') {
    if (!hasNaN && max === 0 && min === 0) return false;
    if (hasNaN) throw executionError('Ratio value is NaN');
    const warn = (value: number, cap: number): void =>
      context.annotations.warn(
        `ratio value should be between -1 and 1, got ${formatFloatG(value)}, capping to ${formatFloatG(cap)}`,
        positionOf(expr.param!),
      );
    if (max > 1) warn(max, 1);
    if (min < -1) warn(min, -1);
    return true;
  }
  if (!hasNaN && max < 1) return false;
  if (hasNaN) throw executionError('Parameter value is NaN');
  if (min <= -maxInt64) throw executionError(`Scalar value ${formatFloatG(min)} underflows int64`);
  if (max >= maxInt64) throw executionError(`Scalar value ${formatFloatG(max)} overflows int64`);
  return true;
}

type Pick = (
  step: number,
  param: number,
  groupOf: Int32Array,
  groups: number,
) => Promise<readonly (readonly number[])[]>;

function byRatio({ budget }: EvalContext, columns: readonly Column[]): Pick {
  const fractions = new Map<Column, number>();
  return async (step, param, groupOf, groups) => {
    const picked: number[][] = Array.from({ length: groups }, () => []);
    const ratio = Math.max(-1, Math.min(1, param));
    for (const [i, column] of columns.entries()) {
      if (column.kinds[step] === absent || ratio === 0) continue;
      let fraction = fractions.get(column);
      if (fraction === undefined) {
        if (budget.spend(keyWork + hashWork * textLength(column.labels))) await budget.turn();
        fractions.set(column, (fraction = labelsFraction(column.labels)));
      }
      if (ratio > 0 ? fraction < ratio : fraction >= 1 + ratio) picked[groupOf[i]!]!.push(i);
    }
    return picked;
  };
}

function byCount(context: EvalContext, expr: AggregateExpr, columns: readonly Column[]): Pick {
  const { op } = expr;
  const { budget } = context;
  const ascending = op === 'bottomk';
  return async (step, param, groupOf, groups) => {
    const k = Math.min(Math.trunc(param), columns.length);
    if (k < 1) return [];
    const heaps = Array.from({ length: groups }, () => new ValueHeap(ascending));
    if (budget.spend(groups * pickWork)) await budget.turn();
    for (const [index, column] of columns.entries()) {
      const kind = column.kinds[step];
      if (kind === absent) continue;
      if (k > 1 && budget.spend(pickWork)) await budget.turn();
      const heap = heaps[groupOf[index]!]!;
      const item: HeapItem = { index, value: column.values[step]! };
      if (op === 'limitk') {
        if (heap.size < k) heap.items.push(item);
      } else if (kind === isHistogram) {
        context.annotations.info(`ignored histogram in ${op} aggregation`, positionOf(expr));
      } else heap.offer(item, k);
    }
    const picked: number[][] = [];
    for (const heap of heaps) {
      const items = op === 'limitk' ? heap.items : await heap.sorted(budget);
      picked.push(items.map((item) => item.index));
    }
    return picked;
  };
}

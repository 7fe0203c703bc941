import { executionError } from '../errors.ts';
import { formatFloatG } from '../format.ts';
import type { AggregateExpr } from '../parser/ast.ts';
import { groupColumns } from './grouping.ts';
import { ColumnBuilder, absent, isHistogram, type Column } from './columns.ts';
import { positionOf, type EvalContext } from './context.ts';
import type { Frame } from './frame.ts';
import { labelsFraction } from './labels-hash.ts';
import { ValueHeap, type HeapItem } from './value-heap.ts';

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
  const { groupOf, labels } = groupColumns(columns, expr.grouping, expr.without);
  const pick = expr.op === 'limit_ratio' ? byRatio(columns) : byCount(context, expr, columns);
  const builders = new Map<number, ColumnBuilder>();
  // The order of an instant answer: groups as they appear, best first within them.
  const order: number[] = [];
  for (let step = 0; step < frame.count; step++) {
    for (const members of pick(step, params[step]!, groupOf, labels.length)) {
      for (const index of members) {
        let builder = builders.get(index);
        if (builder === undefined) {
          builders.set(index, (builder = new ColumnBuilder(frame.count)));
          order.push(index);
        }
        builder.copy(step, columns[index]!);
      }
    }
    if (context.budget.spend(columns.length)) await context.budget.turn();
  }
  return order.map((index) => builders.get(index)!.build(columns[index]!.labels, columns[index]!.dropName));
}

/** False when nothing can be picked at any step. */
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

type Pick = (step: number, param: number, groupOf: Int32Array, groups: number) => number[][];

function byRatio(columns: readonly Column[]): Pick {
  const fractions = columns.map((column) => labelsFraction(column.labels));
  return (step, param, groupOf, groups) => {
    const picked: number[][] = Array.from({ length: groups }, () => []);
    const ratio = Math.max(-1, Math.min(1, param));
    columns.forEach((column, i) => {
      if (column.kinds[step] === absent || ratio === 0) return;
      const fraction = fractions[i]!;
      if (ratio > 0 ? fraction < ratio : fraction >= 1 + ratio) picked[groupOf[i]!]!.push(i);
    });
    return picked;
  };
}

function byCount(context: EvalContext, expr: AggregateExpr, columns: readonly Column[]): Pick {
  const { op } = expr;
  const ascending = op === 'bottomk';
  return (step, param, groupOf, groups) => {
    const k = Math.min(Math.trunc(param), columns.length);
    if (k < 1) return [];
    const heaps = Array.from({ length: groups }, () => new ValueHeap(ascending));
    columns.forEach((column, index) => {
      const kind = column.kinds[step];
      if (kind === absent) return;
      const heap = heaps[groupOf[index]!]!;
      const item: HeapItem = { index, value: column.values[step]! };
      if (op === 'limitk') {
        if (heap.size < k) heap.items.push(item);
      } else if (kind === isHistogram) {
        context.annotations.info(`ignored histogram in ${op} aggregation`, positionOf(expr));
      } else heap.offer(item, k);
    });
    return heaps.map((heap) => (op === 'limitk' ? heap.items : heap.sorted()).map((item) => item.index));
  };
}

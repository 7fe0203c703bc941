import type { Budget } from '../budget.ts';
import { ColumnBuilder, absent, isHistogram, leastWeight, type Column } from '../columns.ts';
import { groupColumns } from './grouping.ts';
import type { Pacing } from '../../../base/turns/turns.ts';
import { sortNumbersInTurns } from './sort-numbers.ts';

/**
 * Returns the elements of one node that topk, bottomk or limitk over all nodes may choose: for topk and bottomk, the k
 * best of each group and all elements equal to the last of them; for limitk, the first k in label order. Columns come
 * in label order.
 */
export async function candidates(
  budget: Budget,
  by: {
    readonly op: 'topk' | 'bottomk' | 'limitk';
    readonly grouping: readonly string[];
    readonly without: boolean;
    readonly k: number;
  },
  columns: readonly Column[],
  steps: number,
): Promise<Column[]> {
  if (!(by.k >= 1)) return [];
  const { groupOf, labels } = await groupColumns(budget, columns, by.grouping, by.without);
  const members: number[][] = labels.map(() => []);
  columns.forEach((_, i) => members[groupOf[i]!]!.push(i));
  const weight = leastWeight(1, steps);
  const builders = new Map<number, ColumnBuilder>();
  for (const group of members) {
    for (let step = 0; step < steps; step++) {
      const there: number[] = [];
      for (const i of group) {
        if (columns[i]!.kinds[step] !== absent) there.push(i);
        if (budget.spend(2)) await budget.turn();
      }
      const found = by.op === 'limitk' ? there.slice(0, by.k) : await best(budget, by.op, by.k, columns, there, step);
      for (const i of found) {
        let builder = builders.get(i);
        if (builder === undefined) {
          budget.hold(weight);
          builders.set(i, (builder = new ColumnBuilder(steps)));
        }
        builder.copy(step, columns[i]!);
        if (budget.spend(5)) await budget.turn();
      }
    }
  }
  budget.release(builders.size * weight);
  return columns.flatMap(({ labels: own, dropName }, i) => builders.get(i)?.build(own, dropName) ?? []);
}

async function best(
  pacing: Pacing,
  op: 'topk' | 'bottomk',
  k: number,
  columns: readonly Column[],
  there: number[],
  step: number,
): Promise<number[]> {
  const floats = there.filter((i) => columns[i]!.kinds[step] !== isHistogram);
  if (floats.length <= k) return floats;
  const rank = (i: number): number => {
    const value = columns[i]!.values[step]!;
    return op === 'topk' ? value : -value;
  };
  const numbers = floats.filter((i) => !Number.isNaN(rank(i)));
  if (numbers.length < k) return floats;
  if (pacing.spend(10 * numbers.length)) await pacing.turn();
  const sorted = await sortNumbersInTurns(pacing, Float64Array.from(numbers, rank));
  const edge = sorted[numbers.length - k]!;
  return numbers.filter((i) => rank(i) >= edge);
}

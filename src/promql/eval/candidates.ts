import { ColumnBuilder, absent, isHistogram, type Column } from './columns.ts';
import { groupColumns } from './grouping.ts';

/**
 * The elements of a node that topk, bottomk or limitk over all nodes may still choose: the k best of each group and
 * all that equal the last of them; for limitk the first k in label order. Columns come in label order.
 */
export function candidates(
  by: {
    readonly op: 'topk' | 'bottomk' | 'limitk';
    readonly grouping: readonly string[];
    readonly without: boolean;
    readonly k: number;
  },
  columns: readonly Column[],
  steps: number,
): Column[] {
  if (!(by.k >= 1)) return [];
  const { groupOf, labels } = groupColumns(columns, by.grouping, by.without);
  const members: number[][] = labels.map(() => []);
  columns.forEach((_, i) => members[groupOf[i]!]!.push(i));
  const builders = columns.map(() => new ColumnBuilder(steps));
  for (const group of members) {
    for (let step = 0; step < steps; step++) {
      const there = group.filter((i) => columns[i]!.kinds[step] !== absent);
      for (const i of by.op === 'limitk' ? there.slice(0, by.k) : best(by.op, by.k, columns, there, step)) {
        builders[i]!.copy(step, columns[i]!);
      }
    }
  }
  return columns
    .map(({ labels: own, dropName }, i) => (builders[i]!.points === 0 ? null : builders[i]!.build(own, dropName)))
    .filter((column) => column !== null);
}

function best(op: 'topk' | 'bottomk', k: number, columns: readonly Column[], there: number[], step: number): number[] {
  const floats = there.filter((i) => columns[i]!.kinds[step] !== isHistogram);
  if (floats.length <= k) return floats;
  const rank = (i: number): number => {
    const value = columns[i]!.values[step]!;
    return op === 'topk' ? value : -value;
  };
  const numbers = floats.filter((i) => !Number.isNaN(rank(i)));
  if (numbers.length < k) return floats;
  const edge = Float64Array.from(numbers, rank).sort()[numbers.length - k]!;
  return numbers.filter((i) => rank(i) >= edge);
}

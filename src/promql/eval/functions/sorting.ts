import { compareLabels, labelValue } from '../../labels.ts';
import { isHistogram, type Column } from '../columns.ts';
import type { Pacing } from '../../../base/turns/turns.ts';
import { sortInTurns } from '../../../base/turns/sort-in-turns.ts';
import { naturallyBefore, naturalWork } from './natural-order.ts';

/** sort and sort_desc of an instant vector: by value, NaN last; histograms are left out. */
export function sortByValue(pacing: Pacing, columns: readonly Column[], descending: boolean): Promise<Column[]> {
  const floats = columns.filter((column) => column.kinds[0] !== isHistogram);
  const compare = (a: Column, b: Column): number => {
    const [x, y] = [a.values[0]!, b.values[0]!];
    if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
    if (x === y) return 0;
    return x < y !== descending ? -1 : 1;
  };
  return sortInTurns(pacing, floats, compare, 5);
}

/** sort_by_label and sort_by_label_desc: by the values of the given labels in natural order, then by all labels. */
export async function sortByLabels(
  pacing: Pacing,
  columns: readonly Column[],
  names: readonly string[],
  descending: boolean,
): Promise<Column[]> {
  const longest = await longestValues(pacing, columns, names);
  const sign = descending ? -1 : 1;
  const compare = (a: Column, b: Column): number => {
    for (const name of longest.keys()) {
      const [x, y] = [labelValue(a.labels, name), labelValue(b.labels, name)];
      if (x !== y) return sign * (naturallyBefore(x, y) ? -1 : 1);
    }
    return sign * compareLabels(a.labels, b.labels);
  };
  const characters = Math.max(0, ...longest.values());
  return sortInTurns(pacing, columns, compare, labelWork * (1 + longest.size) + naturalWork * characters);
}

/** Comparing one label costs as much as this many samples, without the natural order of its values. */
const labelWork = 20;

/** The length of the longest value of each label that any series has, in the order of `names`. Units: characters. */
async function longestValues(
  pacing: Pacing,
  columns: readonly Column[],
  names: readonly string[],
): Promise<Map<string, number>> {
  const longest = new Map(names.map((name) => [name, 0]));
  for (const { labels } of columns) {
    for (const [name, value] of labels) {
      const known = longest.get(name);
      if (known !== undefined && known < value.length) longest.set(name, value.length);
    }
    if (pacing.spend(5 * labels.length)) await pacing.turn();
  }
  return new Map([...longest].filter(([, length]) => length > 0));
}

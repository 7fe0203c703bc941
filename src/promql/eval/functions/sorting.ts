import { compareLabels, compareStrings, labelValue } from '../../labels.ts';
import { isHistogram, type Column } from '../columns.ts';
import type { Pacing } from '../../../base/turns/turns.ts';
import { sortInTurns } from '../../../base/turns/sort-in-turns.ts';

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
export function sortByLabels(
  pacing: Pacing,
  columns: readonly Column[],
  names: readonly string[],
  descending: boolean,
): Promise<Column[]> {
  const sign = descending ? -1 : 1;
  const compare = (a: Column, b: Column): number => {
    for (const name of names) {
      const [x, y] = [labelValue(a.labels, name), labelValue(b.labels, name)];
      if (x !== y) return sign * (naturallyBefore(x, y) ? -1 : 1);
    }
    return sign * compareLabels(a.labels, b.labels);
  };
  return sortInTurns(pacing, columns, compare, 200 * (1 + names.length));
}

const chunks = (text: string): string[] => text.match(/\d+|\D+/g) ?? [];

const largest = 2n ** 63n - 1n;

/** The number that a chunk is; null for text, and for a number that fits no signed integer of 64 bits. */
function numberOf(chunk: string): bigint | null {
  if (!/^0*\d{1,19}$/.test(chunk)) return null;
  const number = BigInt(chunk);
  return number > largest ? null : number;
}

/** Natural order: runs of digits compare as numbers, everything else as text. */
function naturallyBefore(a: string, b: string): boolean {
  const [left, right] = [chunks(a), chunks(b)];
  let longer = 0;
  for (const [i, x] of left.entries()) {
    const y = right[i];
    if (y === undefined) return false;
    if (x === y) continue;
    const [m, n] = [numberOf(x), numberOf(y)];
    if (m === null || n === null) return compareStrings(x, y) < 0;
    if (m !== n) return m < n;
    longer ||= x.length - y.length;
  }
  // Prometheus has no definite order for texts that differ in leading zeros only: here the longer number is first.
  return left.length === right.length ? longer > 0 : left.length < right.length;
}

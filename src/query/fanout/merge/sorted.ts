import type { TurnTaking } from '../../../base/turns/turns.ts';
import { compareLabels } from '../../../tsdb/index.ts';
import type { Labels } from '../../../tsdb/index.ts';
import { mergeLists } from './lists.ts';

/**
 * Merges lists of series, each in label order, into one. It yields to other work on the way (`turns`): merging hundreds
 * of thousands of series takes longer than other requests should wait. A list that is out of order is sorted first.
 */
export async function mergeSorted<T extends { readonly labels: Labels }>(
  lists: readonly (readonly T[])[],
  turns: Pick<TurnTaking, 'next'>,
): Promise<T[]> {
  const byLabels = (a: T, b: T): number => compareLabels(a.labels, b.labels);
  return [...(await mergeLists(lists.map(inOrder), byLabels, turns, 'each'))];
}

function inOrder<T extends { readonly labels: Labels }>(list: readonly T[]): readonly T[] {
  for (let i = 1; i < list.length; i++) {
    if (compareLabels(list[i - 1]!.labels, list[i]!.labels) > 0) {
      return [...list].sort((a, b) => compareLabels(a.labels, b.labels));
    }
  }
  return list;
}

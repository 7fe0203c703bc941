import type { TurnTaking } from '../../../base/turns/turns.ts';
import { compareLabels } from '../../../tsdb/index.ts';
import type { Labels } from '../../../tsdb/index.ts';
import { mergeLists } from './lists.ts';

/**
 * Joins lists of series that are each in label order into one. `turns` are taken on the way: hundreds of thousands of
 * series take longer than other questions should wait. A list that is not in order is put in order first.
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

import { compareLabels } from '../../tsdb/index.ts';
import type { Labels } from '../../tsdb/index.ts';
import type { TurnQueue } from './turn-queue.ts';

/** Other work gets a turn after so many. */
const perTurn = 4_096;

/**
 * Joins lists that are each in label order into one. `turns` are taken on the way: hundreds of thousands of series take
 * longer than other questions should wait. A list that is not in order is put in order first.
 */
export async function mergeSorted<T extends { readonly labels: Labels }>(
  lists: readonly (readonly T[])[],
  turns: TurnQueue,
): Promise<T[]> {
  let level = lists.filter((list) => list.length > 0).map(inOrder);
  while (level.length > 1) {
    const next: (readonly T[])[] = [];
    for (let i = 0; i < level.length; i += 2) {
      next.push(i + 1 < level.length ? await mergeTwo(level[i]!, level[i + 1]!, turns) : level[i]!);
    }
    level = next;
  }
  return [...(level[0] ?? [])];
}

async function mergeTwo<T extends { readonly labels: Labels }>(
  a: readonly T[],
  b: readonly T[],
  turns: TurnQueue,
): Promise<T[]> {
  const merged: T[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    const first = j >= b.length || (i < a.length && compareLabels(a[i]!.labels, b[j]!.labels) <= 0);
    merged.push(first ? a[i++]! : b[j++]!);
    if (merged.length % perTurn === 0) await turns.turn();
  }
  return merged;
}

function inOrder<T extends { readonly labels: Labels }>(list: readonly T[]): readonly T[] {
  for (let i = 1; i < list.length; i++) {
    if (compareLabels(list[i - 1]!.labels, list[i]!.labels) > 0) {
      return [...list].sort((a, b) => compareLabels(a.labels, b.labels));
    }
  }
  return list;
}

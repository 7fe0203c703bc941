import type { TurnTaking } from '../../../base/turns/turns.ts';

/** Other work gets a turn after this many elements. */
const perTurn = 4_096;

/**
 * Merges sorted lists into one. `each` keeps equal elements, those of the first list first; `once` keeps one of them:
 * no list may then have duplicates of its own.
 * It merges two lists at a time and lets other work have turns in between: millions of label sets take seconds, during
 * which other requests are served.
 */
export async function mergeLists<T>(
  lists: readonly (readonly T[])[],
  compare: (a: T, b: T) => number,
  turns: Pick<TurnTaking, 'next'>,
  equals: 'each' | 'once',
): Promise<readonly T[]> {
  let level = lists.filter((list) => list.length > 0);
  while (level.length > 1) {
    const next: (readonly T[])[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const [a, b] = [level[i]!, level[i + 1]];
      next.push(b === undefined ? a : await mergeTwo(a, b, compare, turns, equals));
    }
    level = next;
  }
  return level[0] ?? [];
}

async function mergeTwo<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
  turns: Pick<TurnTaking, 'next'>,
  equals: 'each' | 'once',
): Promise<T[]> {
  // Allocated at full length: an array that grows is copied again and again.
  const merged = new Array<T>(a.length + b.length);
  let [i, j, n] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    const order = i >= a.length ? 1 : j >= b.length ? -1 : compare(a[i]!, b[j]!);
    merged[n++] = order <= 0 ? a[i]! : b[j]!;
    if (order <= 0) i++;
    if (order > 0 || (order === 0 && equals === 'once')) j++;
    if (n % perTurn === 0) await turns.next();
  }
  merged.length = n;
  return merged;
}

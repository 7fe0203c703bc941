import type { Pacing } from './turns.ts';

/** Longer lists are sorted in pieces, which are then merged: at most this many elements, and this much work, at once. */
const most = { elements: 512, work: 200_000 };

/** The work of sorting this many elements at once, in samples. */
const sortWork = (elements: number, compareWork: number): number => elements * Math.log2(elements + 1) * compareWork;

/**
 * The elements in the order of `compare`; the sort is stable, like `Array.prototype.sort`.
 * `compareWork`: one comparison costs at most as much as the work on this many samples of a query.
 */
export async function sortInTurns<T>(
  pacing: Pacing,
  elements: readonly T[],
  compare: (a: T, b: T) => number,
  compareWork: number,
): Promise<T[]> {
  let atOnce = most.elements;
  while (atOnce > 1 && sortWork(atOnce, compareWork) > most.work) atOnce /= 2;
  let from: T[] = [];
  for (let start = 0; start < elements.length; start += atOnce) {
    const piece = elements.slice(start, start + atOnce).sort(compare);
    for (const one of piece) from.push(one);
    if (pacing.spend(sortWork(piece.length, compareWork))) await pacing.turn();
  }
  let to = new Array<T>(from.length);
  for (let width = atOnce; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length);
      const end = Math.min(middle + width, from.length);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at++) {
        const takesLeft = left < middle && (right >= end || compare(from[left]!, from[right]!) <= 0);
        to[at] = takesLeft ? from[left++]! : from[right++]!;
        if (pacing.spend(compareWork)) await pacing.turn();
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

import type { Pacing } from './turns.ts';

/** Number of elements sorted at once; longer lists are sorted in pieces that are then merged. */
const atOnce = 512;

/**
 * The elements in the order of `compare`; the sort is stable, like `Array.prototype.sort`.
 * `compareWork`: one comparison costs as much as the work on this many samples of a query.
 */
export async function sortInTurns<T>(
  pacing: Pacing,
  elements: readonly T[],
  compare: (a: T, b: T) => number,
  compareWork: number,
): Promise<T[]> {
  if (elements.length <= atOnce) return [...elements].sort(compare);
  let from: T[] = [];
  for (let start = 0; start < elements.length; start += atOnce) {
    const piece = elements.slice(start, start + atOnce).sort(compare);
    for (const one of piece) from.push(one);
    if (pacing.spend(atOnce * Math.log2(atOnce) * compareWork)) await pacing.turn();
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

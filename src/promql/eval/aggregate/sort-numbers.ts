import type { Pacing } from '../../../base/turns/turns.ts';
import { sortNumbers } from '../../numbers.ts';

/** How many numbers are sorted in one go, which takes a few milliseconds. */
const numbersAtOnce = 65_536;
/** Sorting one number costs as much as reading this many samples. */
const numberWork = 16;

/**
 * Sorts numbers as `sortNumbers` does, NaN first and −0 before 0, and lets other work run in between. The buffer is
 * changed; the result may be another buffer.
 */
export async function sortNumbersInTurns(pacing: Pacing, values: Float64Array): Promise<Float64Array> {
  const { length } = values;
  for (let start = 0; start < length; start += numbersAtOnce) {
    const piece = values.subarray(start, start + numbersAtOnce);
    sortNumbers(piece);
    if (pacing.spend(piece.length * numberWork)) await pacing.turn();
  }
  let from = values;
  let to = length > numbersAtOnce ? new Float64Array(length) : values;
  for (let width = numbersAtOnce; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(middle + width, length);
      let [left, right] = [start, middle];
      for (let at = start; at < end; at++) {
        const takesLeft = left < middle && (right >= end || !sortsBefore(from[right]!, from[left]!));
        to[at] = takesLeft ? from[left++]! : from[right++]!;
        if (at % 1024 === 0 && pacing.spend(2048)) await pacing.turn();
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

function sortsBefore(a: number, b: number): boolean {
  if (a !== a) return b === b;
  return a < b || (a === 0 && b === 0 && Object.is(a, -0) && !Object.is(b, -0));
}

import type { Sweep } from './sweep.ts';

/** Windows up to this many samples are searched directly, which is faster than a queue. */
const shortWindow = 8;

/**
 * max_over_time and min_over_time. A queue of candidates, best first, gives the extreme of every window in one pass;
 * NaN is the result only of a window without numbers, so it never enters the queue.
 */
export function extremeSweep(isMax: boolean): Sweep {
  const beats = isMax ? (a: number, b: number): boolean => a > b : (a: number, b: number): boolean => a < b;
  return ({ values, grid: { from, to } }, out) => {
    const queue = new Int32Array(values.length);
    let head = 0;
    let tail = 0;
    let next = 0;
    for (let step = 0; step < from.length; step++) {
      const low = from[step]!;
      const high = to[step]!;
      if (high === low) continue;
      if (high - low <= shortWindow && next <= low) {
        out.setFloat(step, search(values, low, high, beats));
        continue;
      }
      if (next < low) {
        next = low;
        head = tail = 0;
      }
      for (; next < high; next++) {
        const value = values[next]!;
        if (value !== value) continue;
        // Of equal values the first stays, as in `search`, which matters for 0 and −0.
        while (tail > head && beats(value, values[queue[tail - 1]!]!)) tail--;
        queue[tail++] = next;
      }
      while (head < tail && queue[head]! < low) head++;
      out.setFloat(step, head < tail ? values[queue[head]!]! : NaN);
    }
    return true;
  };
}

function search(values: Float64Array, low: number, high: number, beats: (a: number, b: number) => boolean): number {
  let best = values[low]!;
  for (let i = low; i < high; i++) {
    const value = values[i]!;
    if (beats(value, best) || best !== best) best = value;
  }
  return best;
}

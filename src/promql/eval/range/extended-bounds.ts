import type { Window } from './window.ts';

/** The first index in [from, to) whose time is above (or, with `inclusive`, not below) `time`; `to` if there is none. */
export function firstAfter(times: Float64Array, from: number, to: number, time: number, inclusive = false): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const t = times[middle]!;
    if (inclusive ? t < time : t <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The indexes of the first and last sample that an anchored or smoothed range uses; null when there is none. */
export function extendedBounds(
  times: Float64Array,
  from: number,
  to: number,
  window: Window,
): { first: number; last: number } | null {
  const smoothed = window.extension === 'smoothed';
  const first = Math.max(from, firstAfter(times, from, to - 1, window.start) - 1);
  const last = smoothed ? firstAfter(times, from, to - 1, window.end, true) : to - 1;
  if (times[last]! <= window.start) return null;
  if (smoothed && times[first]! > window.end) return null;
  return { first, last };
}

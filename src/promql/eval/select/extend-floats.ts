import { extendedBounds } from '../range/extended-bounds.ts';
import { valueAtEnd, valueAtStart } from '../range/extended-rate.ts';
import type { Window } from '../range/window.ts';

/** The samples of an anchored or smoothed range, with values at both of its bounds. */
export function extendFloats(window: Window): { times: Float64Array; values: Float64Array } {
  const none = { times: new Float64Array(0), values: new Float64Array(0) };
  if (window.floatCount === 0) return none;
  const bounds = extendedBounds(window.times, window.from, window.to, window);
  if (bounds === null) return none;
  let { first, last } = bounds;
  const left = valueAtStart(window, first, false);
  const right = valueAtEnd(window, last, false);
  if (window.times[first]! <= window.start) first++;
  if (window.times[last]! >= window.end) last--;
  const inside = first <= last ? [first, last + 1] : [0, 0];
  return {
    times: Float64Array.from([window.start, ...window.times.slice(inside[0], inside[1]), window.end]),
    values: Float64Array.from([left, ...window.values.slice(inside[0], inside[1]), right]),
  };
}

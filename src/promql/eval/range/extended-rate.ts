import { extendedBounds } from './extended-bounds.ts';
import { extendedHistogramRate } from './extended-histogram-rate.ts';
import type { Window } from './window.ts';

/** Linear interpolation between two samples; a counter that fell is assumed to have started from zero. */
export function interpolate(t1: number, y1: number, t2: number, y2: number, t: number, isCounter: boolean): number {
  const base = isCounter && y2 < y1 ? 0 : y1;
  return base + ((y2 - base) * (t - t1)) / (t2 - t1);
}

/** rate, increase and delta of an anchored or smoothed selector: exact values at the bounds, no extrapolation. */
export function extendedRate(window: Window, isCounter: boolean, isRate: boolean): boolean | Promise<boolean> {
  if (window.histogramCount > 0) return extendedHistogramRate(window, isCounter, isRate);
  if (window.floatCount === 0) return false;
  const { times, values } = window;
  const bounds = extendedBounds(times, window.from, window.to, window);
  if (bounds === null) return false;
  let { first, last } = bounds;
  const left = valueAtStart(window, first, isCounter);
  const right = valueAtEnd(window, last, isCounter);
  let result = right - left;
  if (isCounter) {
    if (times[first]! <= window.start) first++;
    if (times[last]! >= window.end) last--;
    let correction = 0;
    let previous = left;
    for (let i = first; i <= last; i++) {
      if (values[i]! < previous) correction += previous;
      previous = values[i]!;
    }
    if (right < previous) correction += previous;
    result += correction;
  }
  return window.float(isRate ? result / (window.range / 1000) : result);
}

/** The value at the start of the range: interpolated if the range is smoothed, else that of the first sample. */
export function valueAtStart(window: Window, first: number, isCounter: boolean): number {
  const { times, values, start } = window;
  if (window.extension !== 'smoothed' || times[first]! >= start) return values[first]!;
  return interpolate(times[first]!, values[first]!, times[first + 1]!, values[first + 1]!, start, isCounter);
}

/** The value at the end of the range: interpolated if the range is smoothed, else that of the last sample. */
export function valueAtEnd(window: Window, last: number, isCounter: boolean): number {
  const { times, values, end } = window;
  if (window.extension !== 'smoothed' || last <= window.from || times[last]! <= end) return values[last]!;
  return interpolate(times[last - 1]!, values[last - 1]!, times[last]!, values[last]!, end, isCounter);
}

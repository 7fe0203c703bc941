import { extendedRate } from './extended-rate.ts';
import { histogramRate } from './histogram-rate.ts';
import { isStartTimeReset, overlapsStartTime } from './start-times.ts';
import { extrapolationFactor } from './extrapolate.ts';
import type { RangeFunction, Window } from './window.ts';

/**
 * rate, increase and delta: difference of the first and last sample, counter resets added back, extrapolated to the
 * bounds of the range when samples are close to them.
 */
export function extrapolatedRate(isCounter: boolean, isRate: boolean): RangeFunction {
  return (window) => {
    if (window.floatCount > 0 && window.histogramCount > 0) return window.mixed();
    if (window.extension !== null) return extendedRate(window, isCounter, isRate);
    if (window.histogramCount > 0) return histogramRate(window, isCounter, isRate);
    return floatRate(window, isCounter, isRate);
  };
}

function floatRate(window: Window, isCounter: boolean, isRate: boolean): boolean {
  const { from, to, times, values, startTimes, start } = window;
  const count = to - from;
  if (count === 0) return false;
  const first = times[from]!;
  const last = times[to - 1]!;
  let difference = values[to - 1]! - values[from]!;
  if (isCounter) difference = corrected(window, difference);
  const began = isCounter && startTimes !== null ? startTimes[from]! : 0;
  const startsInside = began !== 0 && began > start && began < first;
  if (!startsInside && count === 1) return false;
  if (startsInside) difference += values[from]!;
  const factor = extrapolationFactor({
    first,
    last,
    count,
    start,
    end: window.end,
    began: startsInside ? began : null,
    increase: isCounter ? difference : null,
    firstValue: values[from]!,
  });
  return window.float(difference * (isRate ? factor / (window.range / 1000) : factor));
}

/** last − first, plus the value before each reset. These are added one by one: the last digits depend on the order. */
function corrected(window: Window, difference: number): number {
  const { from, to, times, values, startTimes } = window;
  let total = difference;
  let warned = false;
  for (let i = from + 1; i < to; i++) {
    const previous = values[i - 1]!;
    let reset = values[i]! < previous;
    if (startTimes !== null) {
      const [began, begins] = [startTimes[i - 1]!, startTimes[i]!];
      if (!warned && overlapsStartTime(began, times[i - 1]!, begins)) {
        window.annotations.startTimeOverlap(window.metric, window.position);
        warned = true;
      }
      reset ||= isStartTimeReset(began, times[i - 1]!, begins, times[i]!);
    }
    if (reset) total += previous;
  }
  return total;
}

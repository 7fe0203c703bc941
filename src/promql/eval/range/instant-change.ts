import { instantHistogramChange } from './instant-histogram-change.ts';
import { isStartTimeReset } from './start-times.ts';
import type { RangeFunction, Window } from './window.ts';

/** The index of a sample and whether it is a histogram. */
interface Pick {
  readonly index: number;
  readonly time: number;
  readonly isHistogram: boolean;
}

/** irate and idelta: from the last two samples of the range. */
export function instantChange(isRate: boolean): RangeFunction {
  return (window) => {
    if (window.floatCount + window.histogramCount < 2) return false;
    const [previous, last] = lastTwo(window);
    if (last.time === previous.time) return false;
    if (previous.isHistogram !== last.isHistogram) return window.mixed();
    const seconds = (last.time - previous.time) / 1000;
    if (last.isHistogram) return instantHistogramChange(window, previous.index, last.index, isRate ? seconds : null);
    const { values, times, startTimes } = window;
    const [before, now] = [values[previous.index]!, values[last.index]!];
    const [began, begins] = [startTimes?.[previous.index] ?? 0, startTimes?.[last.index] ?? 0];
    const reset = now < before || isStartTimeReset(began, times[previous.index]!, begins, times[last.index]!);
    const change = isRate && reset ? now : now - before;
    return window.float(isRate ? change / seconds : change);
  };
}

function lastTwo(window: Window): [Pick, Pick] {
  const picks: Pick[] = [];
  for (let index = Math.max(window.from, window.to - 2); index < window.to; index++) {
    picks.push({ index, time: window.times[index]!, isHistogram: false });
  }
  for (let index = Math.max(window.histogramFrom, window.histogramTo - 2); index < window.histogramTo; index++) {
    picks.push({ index, time: window.histogramTimes[index]!, isHistogram: true });
  }
  picks.sort((a, b) => a.time - b.time);
  return picks.slice(-2) as [Pick, Pick];
}

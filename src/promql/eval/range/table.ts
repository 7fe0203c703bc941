import { aggregateHistograms } from '../histogram-notes.ts';
import { instantHistogramChange } from './instant-histogram-change.ts';
import {
  deriv,
  doubleExponentialSmoothing,
  extreme,
  floatsOnly,
  meanOfFloats,
  medianAbsoluteDeviation,
  predictLinear,
  quantileOverTime,
  sumOfFloats,
  variance,
} from './over-time.ts';
import { extrapolatedRate } from './rate.ts';
import { changes, resets } from './sequence.ts';
import { isStartTimeReset } from './start-times.ts';
import type { RangeFunction, Window } from './window.ts';

/** One function of a range vector. */
export interface RangeFunctionEntry {
  readonly compute: RangeFunction;
  /** first_ and last_over_time act like an offset and keep the metric's name. */
  readonly keepsName?: true;
  /** May be used with an anchored selector; `smoothed`: with a smoothed one. */
  readonly anchored?: true;
  readonly smoothed?: true;
  /** Reads start timestamps when the engine uses them. */
  readonly startTimes?: true;
}

const endOf = (first: boolean): RangeFunction => {
  return (window) => {
    const float = first ? window.from : window.to - 1;
    const histogram = first ? window.histogramFrom : window.histogramTo - 1;
    if (window.histogramCount === 0) return window.float(window.values[float]!);
    if (window.floatCount === 0) return window.histogram(window.histograms[histogram]!);
    const [t, h] = [window.times[float]!, window.histogramTimes[histogram]!];
    return (first ? t < h : h < t)
      ? window.float(window.values[float]!)
      : window.histogram(window.histograms[histogram]!);
  };
};

const timeOfEnd = (first: boolean): RangeFunction => {
  return (window) => {
    const candidates: number[] = [];
    if (window.floatCount > 0) candidates.push(window.times[first ? window.from : window.to - 1]!);
    if (window.histogramCount > 0) {
      candidates.push(window.histogramTimes[first ? window.histogramFrom : window.histogramTo - 1]!);
    }
    return window.float((first ? Math.min(...candidates) : Math.max(...candidates)) / 1000);
  };
};

/** Applies `float` to floats and `op` to histograms; a mix of both gives a warning and no result. */
const eitherKind = (float: (window: Window) => number, op: 'sum' | 'avg'): RangeFunction => {
  return (window) => {
    if (window.histogramCount === 0) return window.float(float(window));
    return window.floatCount > 0 ? window.mixed() : aggregated(window, op);
  };
};

async function aggregated(window: Window, op: 'sum' | 'avg'): Promise<boolean> {
  const { pacing, annotations, position } = window;
  const histograms = window.histograms.slice(window.histogramFrom, window.histogramTo);
  const result = await aggregateHistograms(pacing, annotations, op, histograms, () => window.metric, position);
  return result !== null && window.histogram(result);
}

const count: RangeFunction = (window) => window.float(window.floatCount + window.histogramCount);
const one: RangeFunction = (window) => window.float(1);

/**
 * Every function of a range vector. `compute` is called for steps whose window holds at least one sample.
 */
export const rangeFunctions: ReadonlyMap<string, RangeFunctionEntry> = new Map<string, RangeFunctionEntry>([
  ['absent_over_time', { compute: one }],
  ['avg_over_time', { compute: eitherKind(meanOfFloats, 'avg') }],
  ['changes', { compute: changes, anchored: true }],
  ['count_over_time', { compute: count }],
  ['delta', { compute: extrapolatedRate(false, false), anchored: true, smoothed: true }],
  ['deriv', { compute: deriv }],
  ['double_exponential_smoothing', { compute: doubleExponentialSmoothing }],
  ['first_over_time', { compute: endOf(true), keepsName: true }],
  ['idelta', { compute: instantChange(false) }],
  ['increase', { compute: extrapolatedRate(true, false), anchored: true, smoothed: true, startTimes: true }],
  ['irate', { compute: instantChange(true), startTimes: true }],
  ['last_over_time', { compute: endOf(false), keepsName: true }],
  ['mad_over_time', { compute: floatsOnly(medianAbsoluteDeviation) }],
  ['max_over_time', { compute: extreme((a, b) => a > b, false) }],
  ['min_over_time', { compute: extreme((a, b) => a < b, false) }],
  ['predict_linear', { compute: predictLinear }],
  ['present_over_time', { compute: one }],
  ['quantile_over_time', { compute: quantileOverTime }],
  ['rate', { compute: extrapolatedRate(true, true), anchored: true, smoothed: true, startTimes: true }],
  ['resets', { compute: resets, anchored: true, startTimes: true }],
  ['stddev_over_time', { compute: floatsOnly((window) => Math.sqrt(variance(window))) }],
  ['stdvar_over_time', { compute: floatsOnly(variance) }],
  ['sum_over_time', { compute: eitherKind(sumOfFloats, 'sum') }],
  ['ts_of_first_over_time', { compute: timeOfEnd(true) }],
  ['ts_of_last_over_time', { compute: timeOfEnd(false) }],
  ['ts_of_max_over_time', { compute: extreme((a, b) => a >= b, true) }],
  ['ts_of_min_over_time', { compute: extreme((a, b) => a <= b, true) }],
]);

/** Names of the functions that allow a modifier; the error message for other functions lists them. */
export function functionsWith(modifier: 'anchored' | 'smoothed'): string[] {
  return [...rangeFunctions].filter(([, entry]) => entry[modifier] === true).map(([name]) => name);
}

/** The index of a sample and whether it is a histogram. */
interface Pick {
  readonly index: number;
  readonly time: number;
  readonly isHistogram: boolean;
}

/** irate and idelta: from the last two samples of the range. */
function instantChange(isRate: boolean): RangeFunction {
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

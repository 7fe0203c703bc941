import { QueryError } from '../../errors.ts';
import { CompensatedSum, quantile } from '../../numbers.ts';
import type { RangeFunction, Window } from './window.ts';

/**
 * Runs a float function. In a window with floats, histograms are ignored with an info; histograms alone give no result.
 */
export function floatsOnly(compute: (window: Window) => number): RangeFunction {
  return (window) => {
    if (window.floatCount === 0) return false;
    if (window.histogramCount > 0) window.ignoredHistograms();
    return window.float(compute(window));
  };
}

export function sumOfFloats(window: Window): number {
  const { values, from, to } = window;
  const sum = new CompensatedSum();
  for (let i = from; i < to; i++) sum.add(values[i]!);
  return Math.abs(sum.sum) === Infinity ? sum.sum : sum.sum + sum.compensation;
}

/** The mean as sum / n; from the point where the sum would overflow, a running mean. */
export function meanOfFloats(window: Window): number {
  const { values, from, to } = window;
  let acc = new CompensatedSum(values[from]!);
  let running = false;
  let count = 1;
  for (let i = from + 1; i < to; i++) {
    count++;
    const value = values[i]!;
    if (!running) {
      const { sum, compensation } = acc;
      acc.add(value);
      if (Math.abs(acc.sum) !== Infinity) continue;
      running = true;
      acc = new CompensatedSum(sum / (count - 1));
      acc.compensation = compensation / (count - 1);
    }
    const share = (count - 1) / count;
    acc.sum *= share;
    acc.compensation *= share;
    acc.add(value / count);
  }
  return running ? acc.sum + acc.compensation : acc.sum / count + acc.compensation / count;
}

/** The extreme by `beats(candidate, best)`; any candidate replaces NaN. With `wantTime`: its time in seconds. */
export function extreme(beats: (candidate: number, best: number) => boolean, wantTime: boolean): RangeFunction {
  return floatsOnly(({ values, times, from, to }) => {
    let best = values[from]!;
    let at = times[from]!;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      if (beats(value, best) || best !== best) {
        best = value;
        at = times[i]!;
      }
    }
    return wantTime ? at / 1000 : best;
  });
}

export const quantileOverTime: RangeFunction = (window) => {
  if (window.floatCount === 0) return false;
  const q = window.params[0]!;
  // The caller of range functions reports an invalid quantile, once for each step.
  if (window.histogramCount > 0) window.ignoredHistograms();
  return window.float(quantile(q, window.values.slice(window.from, window.to)));
};

/** Population variance by Welford's method, with compensated sums. */
export function variance({ values, from, to }: Window): number {
  const mean = new CompensatedSum();
  const squares = new CompensatedSum();
  let count = 0;
  for (let i = from; i < to; i++) {
    count++;
    const value = values[i]!;
    const delta = value - (mean.sum + mean.compensation);
    mean.add(delta / count);
    squares.add(delta * (value - (mean.sum + mean.compensation)));
  }
  return (squares.sum + squares.compensation) / count;
}

/** Median of the absolute deviations from the median. */
export function medianAbsoluteDeviation({ values, from, to }: Window): number {
  const copy = values.slice(from, to);
  if (copy.some(Number.isNaN)) return NaN;
  const median = quantile(0.5, copy);
  return quantile(
    0.5,
    copy.map((value) => Math.abs(value - median)),
  );
}

/** Exponential smoothing with a trend; parameters: smoothing factor and trend factor, both in (0, 1). */
export const doubleExponentialSmoothing: RangeFunction = (window) => {
  const [smoothing, trend] = window.params as [number, number];
  for (const [name, factor] of [
    ['smoothing', smoothing],
    ['trend', trend],
  ] as const) {
    if (factor <= 0 || factor >= 1) {
      const short = name === 'smoothing' ? 'sf' : 'tf';
      throw new QueryError(
        'execution',
        `invalid ${name} factor. Expected: 0 < ${short} < 1, got: ${factor.toFixed(6)}`,
      );
    }
  }
  if (!enoughFloats(window)) return false;
  const { values, from, to } = window;
  let previous = 0;
  let current = values[from]!;
  let slope = values[from + 1]! - values[from]!;
  for (let i = from + 1; i < to; i++) {
    if (i > from + 1) slope = trend * (current - previous) + (1 - trend) * slope;
    const next = smoothing * values[i]! + (1 - smoothing) * (current + slope);
    previous = current;
    current = next;
  }
  return window.float(current);
};

/** True with two floats or more; annotates ignored histograms. */
function enoughFloats(window: Window): boolean {
  if (window.floatCount > 0 && window.histogramCount > 0) window.ignoredHistograms();
  return window.floatCount >= 2;
}

interface Line {
  readonly slope: number;
  readonly intercept: number;
}

/** Least squares over the window's floats; the intercept is the value at `time`. */
function regression({ values, times, from, to }: Window, time: number): Line {
  const [sumX, sumY, sumXY, sumXX] = [
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
    new CompensatedSum(),
  ] as const;
  const initial = values[from]!;
  let constant = true;
  for (let i = from; i < to; i++) {
    const y = values[i]!;
    if (i > from && y !== initial) constant = false;
    const x = (times[i]! - time) / 1000;
    sumX.add(x);
    sumY.add(y);
    sumXY.add(x * y);
    sumXX.add(x * x);
  }
  if (constant) {
    return Math.abs(initial) === Infinity ? { slope: NaN, intercept: NaN } : { slope: 0, intercept: initial };
  }
  const n = to - from;
  const x = sumX.sum + sumX.compensation;
  const y = sumY.sum + sumY.compensation;
  const covariance = sumXY.sum + sumXY.compensation - (x * y) / n;
  const variance = sumXX.sum + sumXX.compensation - (x * x) / n;
  const slope = covariance / variance;
  return { slope, intercept: y / n - (slope * x) / n };
}

export const deriv: RangeFunction = (window) =>
  enoughFloats(window) && window.float(regression(window, window.times[window.from]!).slope);

export const predictLinear: RangeFunction = (window) => {
  if (!enoughFloats(window)) return false;
  const { slope, intercept } = regression(window, window.time);
  return window.float(slope * window.params[0]! + intercept);
};

import {
  IncompatibleSchemas,
  compactHistogram,
  divideHistogram,
  subtractHistograms,
} from '../../histogram/arithmetic.ts';
import { detectReset } from '../../histogram/reset.ts';
import { tellCombined, tellMixedSchemas } from '../histogram-notes.ts';
import { isStartTimeReset } from './start-times.ts';
import type { Window } from './window.ts';

/** irate (with `seconds`) and idelta (without) of the last two native histograms. */
export function instantHistogramChange(
  window: Window,
  previous: number,
  last: number,
  seconds: number | null,
): boolean {
  const { annotations, position, histogramTimes, histogramStartTimes } = window;
  const [before, now] = [window.histograms[previous]!, window.histograms[last]!];
  const isRate = seconds !== null;
  const gauges = [before, now].filter(({ counterReset }) => counterReset === 'gauge').length;
  if (isRate && gauges > 0) tellNotCounter(window);
  if (!isRate && gauges < 2) tellNotGauge(window);
  const began = histogramStartTimes?.[previous] ?? 0;
  const begins = histogramStartTimes?.[last] ?? 0;
  const reset =
    isRate &&
    (isStartTimeReset(began, histogramTimes[previous]!, begins, histogramTimes[last]!) || detectReset(now, before));
  let result = now;
  if (!reset) {
    try {
      const combined = subtractHistograms(now, before);
      tellCombined(annotations, { ...combined, resetCollision: false }, 'subtraction', position);
      result = combined.histogram;
    } catch (error) {
      if (!(error instanceof IncompatibleSchemas)) throw error;
      tellMixedSchemas(annotations, window.metric, position);
      return false;
    }
  }
  const compact = compactHistogram({ ...result, counterReset: 'gauge' });
  return window.histogram(isRate ? divideHistogram(compact, seconds) : compact);
}

/** Warns that a counter function was used on a gauge histogram. */
export function tellNotCounter(window: Window): void {
  const name = JSON.stringify(window.metric);
  window.annotations.warn(`this native histogram metric is not a counter: ${name}`, window.position);
}

/** Warns that a gauge function was used on a counter histogram. */
export function tellNotGauge(window: Window): void {
  const name = JSON.stringify(window.metric);
  window.annotations.warn(`this native histogram metric is not a gauge: ${name}`, window.position);
}

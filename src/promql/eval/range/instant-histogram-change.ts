import { compactHistogram, divideHistogram, subtractHistograms } from '../../histogram/arithmetic.ts';
import { detectReset } from '../../histogram/reset.ts';
import { combined, tellNotCounter, tellNotGauge } from './histogram-steps.ts';
import { isStartTimeReset } from './start-times.ts';
import type { Window } from './window.ts';

/** irate (with `seconds`) and idelta (without) of the last two native histograms. */
export function instantHistogramChange(
  window: Window,
  previous: number,
  last: number,
  seconds: number | null,
): boolean {
  const { histogramTimes, histogramStartTimes } = window;
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
  const result = reset ? now : combined(window, () => subtractHistograms(now, before), 'subtraction');
  if (result === null) return false;
  const compact = compactHistogram({ ...result, counterReset: 'gauge' });
  return window.histogram(isRate ? divideHistogram(compact, seconds) : compact);
}

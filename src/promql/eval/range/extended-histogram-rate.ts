import {
  addHistograms,
  compactHistogram,
  divideHistogram,
  scaleHistogram,
  subtractHistograms,
} from '../../histogram/arithmetic.ts';
import { usesCustomBuckets } from '../../histogram/buckets.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { detectReset } from '../../histogram/reset.ts';
import { tellMixedSchemas } from '../histogram-notes.ts';
import { histogramWork } from '../histogram-work.ts';
import { extendedBounds } from './extended-bounds.ts';
import { combined, tellNotCounter, tellNotGauge } from './histogram-steps.ts';
import type { Window } from './window.ts';

/**
 * rate, increase and delta of native histograms of a selector with `anchored` or `smoothed`. Writes the result to the
 * window; false when there is none.
 */
export async function extendedHistogramRate(window: Window, isCounter: boolean, isRate: boolean): Promise<boolean> {
  const { histogramTimes: times, histograms } = window;
  const bounds = extendedBounds(times, window.histogramFrom, window.histogramTo, window);
  if (bounds === null) return false;
  const { first, last } = bounds;
  const custom = usesCustomBuckets(histograms[first]!);
  for (let i = first; i <= last; i++) {
    if (usesCustomBuckets(histograms[i]!) !== custom) {
      tellMixedSchemas(window.annotations, window.metric, window.position);
      return false;
    }
    if (isCounter && histograms[i]!.counterReset === 'gauge') tellNotCounter(window);
  }
  const smoothed = window.extension === 'smoothed';
  const left =
    smoothed && times[first]! < window.start
      ? interpolateHistograms(window, first, window.start, isCounter)
      : histograms[first]!;
  const right =
    smoothed && last > window.histogramFrom && times[last]! > window.end
      ? interpolateHistograms(window, last - 1, window.end, isCounter)
      : histograms[last]!;
  if (left === null || right === null) return false;
  if (!isCounter && (left.counterReset !== 'gauge' || right.counterReset !== 'gauge')) tellNotGauge(window);
  let result = combined(window, () => subtractHistograms(right, left), 'subtraction');
  if (result !== null && isCounter) result = await withCorrections(window, first, last, left, right, result);
  if (result === null) return false;
  const scaled = isRate ? divideHistogram(result, window.range / 1000) : result;
  return window.histogram(compactHistogram({ ...scaled, counterReset: 'gauge' }));
}

/** Adds back the counter's value before each reset strictly inside the range. */
async function withCorrections(
  window: Window,
  first: number,
  last: number,
  left: FloatHistogram,
  right: FloatHistogram,
  difference: FloatHistogram,
): Promise<FloatHistogram | null> {
  const { histogramTimes: times, histograms, pacing } = window;
  let previous = left;
  let next = first + 1;
  const spansReset =
    window.extension === 'smoothed' &&
    times[first]! < window.start &&
    detectReset(histograms[first + 1]!, histograms[first]!);
  if (spansReset) {
    previous = histograms[first + 1]!;
    next++;
  }
  if (next > last) return difference;
  let result: FloatHistogram | null = difference;
  const add = (before: FloatHistogram): void => {
    const soFar = result;
    if (soFar !== null) result = combined(window, () => addHistograms(soFar, before), 'addition');
  };
  for (let i = next; i < last; i++) {
    const current = histograms[i]!;
    let work = histogramWork(current);
    if (detectReset(current, previous)) {
      add(previous);
      work += histogramWork(result);
    }
    previous = current;
    if (pacing.spend(work)) await pacing.turn();
  }
  if (detectReset(right, previous)) add(previous);
  return result;
}

/** The histogram at a time between samples `index` and `index + 1`; interpolated from zero after a counter reset. */
export function interpolateHistograms(
  window: Window,
  index: number,
  time: number,
  isCounter: boolean,
): FloatHistogram | null {
  const { histogramTimes: times, histograms } = window;
  const [before, after] = [histograms[index]!, histograms[index + 1]!];
  const [t1, t2] = [times[index]!, times[index + 1]!];
  if (time === t1) return before;
  if (time === t2) return after;
  const fraction = (time - t1) / (t2 - t1);
  if (isCounter && detectReset(after, before)) return scaleHistogram(after, fraction);
  const change = combined(window, () => subtractHistograms(after, before), 'subtraction');
  if (change === null) return null;
  return combined(window, () => addHistograms(scaleHistogram(change, fraction), before), 'addition');
}

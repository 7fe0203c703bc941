import { detectReset } from '../../histogram/reset.ts';
import { histogramsEqual } from '../../histogram/compare.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { histogramWork } from '../histogram-work.ts';
import { firstAfter } from './extended-bounds.ts';
import { isStartTimeReset } from './start-times.ts';
import type { RangeFunction, Window } from './window.ts';

/** One sample of a window, float or histogram. */
interface Sample {
  readonly time: number;
  readonly value: number;
  readonly histogram: FloatHistogram | null;
  readonly began: number;
}

/**
 * Counts the pairs of neighbours for which `differs` is true, in a window of floats only. Nothing is copied, because
 * windows may be long.
 */
function countFloatPairs(window: Window, differs: (previous: number, current: number) => boolean): true {
  const { values, from, to } = window;
  let count = 0;
  for (let i = from + 1; i < to; i++) if (differs(values[i - 1]!, values[i]!)) count++;
  return window.float(count);
}

/** True for a window that has only floats, no start times, and is neither anchored nor smoothed. */
function isPlain(window: Window): boolean {
  return (
    window.histogramCount === 0 && window.startTimes === null && window.extension === null && window.floatCount > 0
  );
}

/** Counts the pairs of neighbours for which `differs` is true, with floats and histograms merged by time. */
function countPairs(
  window: Window,
  differs: (previous: Sample, current: Sample) => boolean,
): boolean | Promise<boolean> {
  if (window.floatCount + window.histogramCount === 0) return false;
  const samples = samplesOf(window);
  if (samples === null) return false;
  if (window.histogramCount > 0) return countInTurns(window, samples, differs);
  let count = 0;
  for (let i = 1; i < samples.length; i++) if (differs(samples[i - 1]!, samples[i]!)) count++;
  return window.float(count);
}

async function countInTurns(
  window: Window,
  samples: readonly Sample[],
  differs: (previous: Sample, current: Sample) => boolean,
): Promise<true> {
  const { pacing } = window;
  let count = 0;
  for (let i = 1; i < samples.length; i++) {
    if (differs(samples[i - 1]!, samples[i]!)) count++;
    if (pacing.spend(1 + histogramWork(samples[i]!.histogram))) await pacing.turn();
  }
  return window.float(count);
}

/**
 * The window's samples in order. An anchored window begins with the last sample at or before its start. Returns null
 * for an anchored window without a sample after its start.
 */
function samplesOf(window: Window): Sample[] | null {
  const { times, values, histogramTimes, histograms } = window;
  let { from, histogramFrom } = window;
  if (window.extension === 'anchored') {
    const float = firstAfter(times, from, window.to, window.start) - 1;
    const histogram = firstAfter(histogramTimes, histogramFrom, window.histogramTo, window.start) - 1;
    if (float + 1 >= window.to && histogram + 1 >= window.histogramTo) return null;
    const hasFloat = float >= from;
    const hasHistogram = histogram >= histogramFrom;
    if (hasFloat && (!hasHistogram || times[float]! >= histogramTimes[histogram]!)) {
      from = float;
      histogramFrom = histogram + 1;
    } else if (hasHistogram) {
      from = float + 1;
      histogramFrom = histogram;
    }
  }
  const samples: Sample[] = [];
  let [i, j] = [from, histogramFrom];
  while (i < window.to || j < window.histogramTo) {
    if (j >= window.histogramTo || (i < window.to && times[i]! < histogramTimes[j]!)) {
      samples.push({ time: times[i]!, value: values[i]!, histogram: null, began: window.startTimes?.[i] ?? 0 });
      i++;
    } else {
      const began = window.histogramStartTimes?.[j] ?? 0;
      samples.push({ time: histogramTimes[j]!, value: 0, histogram: histograms[j]!, began });
      j++;
    }
  }
  return samples;
}

export const resets: RangeFunction = (window) => {
  if (isPlain(window)) return countFloatPairs(window, (previous, current) => current < previous);
  return countPairs(window, (previous, current) => {
    if ((previous.histogram === null) !== (current.histogram === null)) return true;
    if (isStartTimeReset(previous.began, previous.time, current.began, current.time)) return true;
    if (current.histogram === null) return current.value < previous.value;
    return detectReset(current.histogram, previous.histogram!);
  });
};

const changed = (previous: number, current: number): boolean =>
  current !== previous && !(Number.isNaN(current) && Number.isNaN(previous));

export const changes: RangeFunction = (window) => {
  if (isPlain(window)) return countFloatPairs(window, changed);
  return countPairs(window, (previous, current) => {
    if ((previous.histogram === null) !== (current.histogram === null)) return true;
    if (current.histogram !== null) return !histogramsEqual(current.histogram, previous.histogram!);
    return changed(previous.value, current.value);
  });
};

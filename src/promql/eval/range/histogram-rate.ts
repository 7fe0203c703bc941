import {
  addHistograms,
  compactHistogram,
  emptyHistogram,
  reduceSchema,
  scaleHistogram,
  subtractHistograms,
} from '../../histogram/arithmetic.ts';
import { usesCustomBuckets } from '../../histogram/buckets.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { detectReset } from '../../histogram/reset.ts';
import { tellMixedSchemas } from '../histogram-notes.ts';
import { histogramWork } from '../histogram-work.ts';
import { extrapolationFactor } from './extrapolate.ts';
import { combined, tellNotCounter, tellNotGauge } from './histogram-steps.ts';
import { isStartTimeReset, overlapsStartTime } from './start-times.ts';
import type { Window } from './window.ts';

/**
 * Computes rate, increase or delta of a window's native histograms, bucket by bucket. Returns false where there is no
 * result.
 */
export async function histogramRate(window: Window, isCounter: boolean, isRate: boolean): Promise<boolean> {
  const { histogramFrom: from, histogramTo: to, histogramTimes: times, histograms, start } = window;
  const starts = isCounter ? window.histogramStartTimes : null;
  const first = times[from]!;
  const count = to - from;
  let difference = count > 1 ? await differenceOf(window, isCounter) : null;
  if (count > 1 && difference === null) return false;
  const began = starts?.[from] ?? 0;
  const startsInside = began !== 0 && began > start && began < first;
  if (!startsInside && count === 1) return false;
  if (startsInside) {
    if (difference === null) difference = histograms[from]!;
    else {
      const added = combined(window, () => addHistograms(difference!, histograms[from]!), 'addition');
      if (added === null) return false;
      difference = added;
    }
  }
  const result = difference!;
  const factor = extrapolationFactor({
    first,
    last: times[to - 1]!,
    count,
    start,
    end: window.end,
    began: startsInside ? began : null,
    increase: isCounter && result.count > 0 ? result.count : null,
    firstValue: histograms[from]!.count,
  });
  return window.histogram(scaleHistogram(result, isRate ? factor / (window.range / 1000) : factor));
}

/** last − first with counter resets added back; null when the histograms cannot be combined. */
async function differenceOf(window: Window, isCounter: boolean): Promise<FloatHistogram | null> {
  const { histogramFrom: from, histogramTo: to, histogramTimes: times, histograms, pacing } = window;
  const starts = isCounter ? window.histogramStartTimes : null;
  const last = histograms[to - 1]!;
  let previous = histograms[from]!;
  if (isCounter && (previous.counterReset === 'gauge' || last.counterReset === 'gauge')) tellNotCounter(window);
  const isReset = (i: number, before: FloatHistogram): boolean =>
    (starts !== null && isStartTimeReset(starts[i - 1]!, times[i - 1]!, starts[i]!, times[i]!)) ||
    detectReset(histograms[i]!, before);
  if (isCounter && isReset(from + 1, previous)) {
    // After a reset, the first sample does not count, so its layout must not matter either.
    const { schema, customValues } = histograms[from + 1]!;
    previous = { ...emptyHistogram, schema, customValues };
  }
  const custom = usesCustomBuckets(previous);
  let schema = Math.min(last.schema, previous.schema);
  let fits = usesCustomBuckets(last) === custom;
  for (let i = from + 1; i < to - 1 && fits && isCounter; i++) {
    const current = histograms[i]!;
    if (current.counterReset === 'gauge') tellNotCounter(window);
    schema = Math.min(schema, current.schema);
    fits = usesCustomBuckets(current) === custom;
  }
  if (!fits) {
    tellMixedSchemas(window.annotations, window.metric, window.position);
    return null;
  }
  const base = custom ? last : reduceSchema(last, schema);
  let result = combined(window, () => subtractHistograms(base, previous), 'subtraction');
  if (isCounter) {
    let warned = false;
    for (let i = from + 1; i < to && result !== null; i++) {
      if (!warned && starts !== null && overlapsStartTime(starts[i - 1]!, times[i - 1]!, starts[i]!)) {
        window.annotations.startTimeOverlap(window.metric, window.position);
        warned = true;
      }
      const before: FloatHistogram = previous;
      const soFar: FloatHistogram = result;
      previous = histograms[i]!;
      let work = histogramWork(previous);
      if (isReset(i, before)) {
        result = combined(window, () => addHistograms(soFar, before), 'addition');
        work += histogramWork(result);
      }
      if (pacing.spend(work)) await pacing.turn();
    }
  } else if (histograms[from]!.counterReset !== 'gauge' || last.counterReset !== 'gauge') tellNotGauge(window);
  return result === null ? null : compactHistogram({ ...result, counterReset: 'gauge' });
}

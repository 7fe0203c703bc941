import { HistogramMean, HistogramSum, IncompatibleSchemas } from '../../histogram/arithmetic.ts';
import { tellCombined, tellMixedSchemas } from '../histogram-notes.ts';
import type { Window } from './window.ts';

/** sum_over_time and avg_over_time of native histograms. */
export function aggregateHistograms(window: Window, op: 'sum' | 'avg'): boolean {
  const { annotations, position } = window;
  const histograms = window.histograms.slice(window.histogramFrom, window.histogramTo);
  const acc = op === 'sum' ? new HistogramSum(histograms[0]!) : new HistogramMean(histograms[0]!);
  const hints = new Set(histograms.map(({ counterReset }) => counterReset));
  try {
    for (const histogram of histograms.slice(1)) acc.add(histogram);
  } catch (error) {
    if (!(error instanceof IncompatibleSchemas)) throw error;
    tellMixedSchemas(annotations, window.metric, position);
    return false;
  }
  const resetCollision = hints.has('reset') && hints.has('not_reset');
  tellCombined(annotations, { resetCollision, boundsReconciled: acc.boundsReconciled }, 'aggregation', position);
  return window.histogram(acc.result);
}

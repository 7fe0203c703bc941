import type { Pacing } from '../../base/turns/turns.ts';
import type { Annotations } from '../annotations.ts';
import type { Position } from '../errors.ts';
import { HistogramMean, HistogramSum, IncompatibleSchemas, type Combined } from '../histogram/arithmetic.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import { histogramWork } from './histogram-work.ts';

/** Operations on histograms, as annotations name them. */
export type HistogramOperationName = 'addition' | 'subtraction' | 'aggregation';

/** Annotates that exponential and custom buckets cannot be combined. */
export function tellMixedSchemas(annotations: Annotations, metric: string, position: Position): void {
  annotations.warn(
    'vector contains a mix of histograms with exponential and custom buckets schemas for metric name ' +
      JSON.stringify(metric),
    position,
  );
}

/**
 * Annotates what combining two histograms could not keep: conflicting counter-reset hints, or differing custom bounds.
 */
export function tellCombined(
  annotations: Annotations,
  combined: Pick<Combined, 'resetCollision' | 'boundsReconciled'>,
  operation: HistogramOperationName,
  position: Position,
): void {
  if (combined.resetCollision) {
    annotations.warn(`conflicting counter resets during histogram ${operation}`, position);
  }
  if (combined.boundsReconciled) {
    annotations.info(`mismatched custom buckets were reconciled during ${operation}`, position);
  }
}

/**
 * The sum or the average of histograms, in their order. Null when schemas cannot be combined; an annotation then names
 * the metric of the first histogram that does not fit.
 */
export async function aggregateHistograms(
  pacing: Pacing,
  annotations: Annotations,
  op: 'sum' | 'avg',
  histograms: readonly FloatHistogram[],
  metricOf: (index: number) => string,
  position: Position,
): Promise<FloatHistogram | null> {
  const [first, ...others] = histograms;
  const acc = op === 'sum' ? new HistogramSum(first!) : new HistogramMean(first!);
  if (pacing.spend(histogramWork(first!))) await pacing.turn();
  for (const [i, histogram] of others.entries()) {
    if (pacing.spend(histogramWork(acc.soFar) + histogramWork(histogram))) await pacing.turn();
    try {
      acc.add(histogram);
    } catch (error) {
      if (!(error instanceof IncompatibleSchemas)) throw error;
      tellMixedSchemas(annotations, metricOf(i + 1), position);
      return null;
    }
  }
  const hints = new Set(histograms.map(({ counterReset }) => counterReset));
  const resetCollision = hints.has('reset') && hints.has('not_reset');
  tellCombined(annotations, { resetCollision, boundsReconciled: acc.boundsReconciled }, 'aggregation', position);
  return acc.result;
}

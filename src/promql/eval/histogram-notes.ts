import type { Annotations } from '../annotations.ts';
import type { Position } from '../errors.ts';
import type { Combined } from '../histogram/arithmetic.ts';

/** What is being done to histograms, as annotations name it. */
export type HistogramOperationName = 'addition' | 'subtraction' | 'aggregation';

/** Tells that a mix of exponential and custom buckets cannot be combined. */
export function tellMixedSchemas(annotations: Annotations, metric: string, position: Position): void {
  annotations.warn(
    'vector contains a mix of histograms with exponential and custom buckets schemas for metric name ' +
      JSON.stringify(metric),
    position,
  );
}

/** Tells what combining two histograms had to put up with. */
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

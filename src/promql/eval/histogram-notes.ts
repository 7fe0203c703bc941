import type { Annotations } from '../annotations.ts';
import type { Position } from '../errors.ts';
import type { Combined } from '../histogram/arithmetic.ts';

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

/** Annotates the compromises of combining two histograms. */
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

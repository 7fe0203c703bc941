import { IncompatibleSchemas, type addHistograms } from '../../histogram/arithmetic.ts';
import type { FloatHistogram } from '../../histogram/float-histogram.ts';
import { tellCombined, tellMixedSchemas } from '../histogram-notes.ts';
import type { Window } from './window.ts';

/**
 * Adds or subtracts histograms by `compute`, with an annotation when their custom buckets differ. Returns null, with a
 * warning, when their schemas are incompatible.
 */
export function combined(
  window: Window,
  compute: () => ReturnType<typeof addHistograms>,
  operation: 'addition' | 'subtraction',
): FloatHistogram | null {
  try {
    const result = compute();
    // The rate itself handles resets, so conflicting hints about counter resets need no annotation.
    tellCombined(window.annotations, { ...result, resetCollision: false }, operation, window.position);
    return result.histogram;
  } catch (error) {
    if (!(error instanceof IncompatibleSchemas)) throw error;
    tellMixedSchemas(window.annotations, window.metric, window.position);
    return null;
  }
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

import { detectReset, type FloatHistogram } from '../../promql/index.ts';
import type { LoadedSample } from './memory-source.ts';

/**
 * Gives histogram samples the counter-reset hints that a store would return. The first sample of a run is "unknown" (or
 * a reset), the other samples of the run are "not reset". A new run starts at a reset, and where the kind of sample
 * changes.
 * Shape: samples in time order.
 */
export function withStoredHints(samples: readonly LoadedSample[]): LoadedSample[] {
  let previous: FloatHistogram | null = null;
  return samples.map((sample) => {
    const { histogram } = sample;
    if (histogram === undefined) {
      if (sample.stale !== true) previous = null;
      return sample;
    }
    const before = previous;
    previous = histogram;
    if (histogram.counterReset === 'gauge') return sample;
    if (histogram.counterReset === 'reset') return sample;
    const continues = before !== null && before.counterReset !== 'gauge';
    const unknown = { ...histogram, counterReset: 'unknown' } as const;
    if (!continues) return { ...sample, histogram: unknown };
    const reset = detectReset(unknown, before);
    return { ...sample, histogram: { ...histogram, counterReset: reset ? 'unknown' : 'not_reset' } };
  });
}

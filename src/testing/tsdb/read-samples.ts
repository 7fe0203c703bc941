import { decodePoints } from '../../tsdb/chunk/index.ts';
import type { NativeHistogram } from '../../tsdb/index.ts';
import { labelsKey } from '../../tsdb/index.ts';
import type { Matcher, Store } from '../../tsdb/index.ts';

/**
 * All samples of a store for some matchers, by series key and time: the bits of the value in hex, so that stale markers
 * show, or a histogram as text.
 */
export function readSamples(
  store: Store,
  matchers: readonly Matcher[] = [],
  mint = -Infinity,
  maxt = Infinity,
): Map<string, Map<number, string>> {
  const result = new Map<string, Map<number, string>>();
  for (const series of store.select(matchers, mint, maxt)) {
    const byTime = new Map<number, string>();
    let last = -Infinity;
    for (const chunk of series.chunks()) {
      const points = decodePoints(chunk);
      if (points.length !== chunk.count) throw new Error(`chunk of ${points.length} samples says ${chunk.count}`);
      if (points[0]!.t !== chunk.minT || points.at(-1)!.t !== chunk.maxT) throw new Error('chunk times are wrong');
      for (const { t, high, low, histogram } of points) {
        if (t <= last) throw new Error('samples are not in time order');
        byTime.set((last = t), histogram ? histogramText(histogram) : bitsHex(high, low));
      }
    }
    result.set(labelsKey(series.labels), byTime);
  }
  return result;
}

/** A value's 64 bits as 16 hex digits. */
export function bitsHex(high: number, low: number): string {
  return (high >>> 0).toString(16).padStart(8, '0') + (low >>> 0).toString(16).padStart(8, '0');
}

/** The content of a histogram as text, independent of its encoding: empty buckets and reset hints are left out. */
export function histogramText(h: NativeHistogram): string {
  const side = (name: 'positive' | 'negative'): string => {
    let next = 0;
    let at = 0;
    const filled: string[] = [];
    for (const { offset, length } of h[`${name}Spans`]) {
      next += offset;
      for (let i = 0; i < length; i++, next++, at++) if (h[name][at] !== 0) filled.push(`${next}:${h[name][at]}`);
    }
    return filled.join(' ');
  };
  const gauge = h.counterReset === 'gauge';
  const facts = [h.kind, gauge, h.schema, h.zeroThreshold, h.zeroCount, h.count, h.sum, h.customValues.join(' ')];
  return [...facts, side('positive'), side('negative')].join('|');
}

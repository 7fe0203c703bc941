import { decodeXorChunk, SampleBuffer } from '../../tsdb/chunk/index.ts';
import { labelsKey } from '../../tsdb/index.ts';
import type { Matcher, Store } from '../../tsdb/index.ts';

/** Everything a store holds for some matchers: by series key, time → value bits in hex (stale markers show). */
export function readSamples(
  store: Store,
  matchers: readonly Matcher[] = [],
  mint = -Infinity,
  maxt = Infinity,
): Map<string, Map<number, string>> {
  const result = new Map<string, Map<number, string>>();
  for (const { labels, chunks } of store.select(matchers, mint, maxt)) {
    const samples = new SampleBuffer();
    for (const chunk of chunks()) decodeXorChunk(chunk.bytes, samples);
    const byTime = new Map<number, string>();
    for (let i = 0; i < samples.length; i++) {
      if (i > 0 && samples.times[i]! <= samples.times[i - 1]!) throw new Error('samples are not in time order');
      byTime.set(samples.times[i]!, bitsHex(samples.highAt(i), samples.lowAt(i)));
    }
    result.set(labelsKey(labels), byTime);
  }
  return result;
}

/** A value's 64 bits as 16 hex digits. */
export function bitsHex(high: number, low: number): string {
  return high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0');
}

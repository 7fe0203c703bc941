import type { Clock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { labelsFromObject, openStore } from '../../tsdb/index.ts';
import type { Store } from '../../tsdb/index.ts';
import { aHistogram } from './histograms.ts';
import { MemoryFiles } from './memory-files.ts';

/** The input of the golden chunks: made by rule, so that it can be made again anywhere. Times in ms. */
export const goldenStart = Date.UTC(2026, 0, 1);
export const goldenEnd = goldenStart + 150 * 60_000;
const stepMs = 15_000;

/** Floats of five kinds with gaps and stale markers, and native histograms of eight. */
export async function goldenStore(): Promise<Store> {
  const clock: Clock = { now: () => goldenEnd, monotonic: () => 0, setTimeout: () => () => {} };
  const store = await openStore({ dir: '/golden', files: new MemoryFiles(), clock, logger: silentLogger });
  for (let kind = 0; kind < 5; kind++) {
    const labels = labelsFromObject({ __name__: 'golden_float', kind: String(kind) });
    for (let n = 0; goldenStart + n * stepMs <= goldenEnd; n++) {
      const t = goldenStart + n * stepMs + (n % 7 === 3 ? kind : 0);
      if (n % 97 === 96) store.appendStale(labels, t);
      else if (n % 41 !== 40) store.append(labels, t, floatValue(kind, n));
    }
  }
  for (let shape = 0; shape < 8; shape++) {
    const labels = labelsFromObject({ __name__: 'golden_histogram', shape: String(shape) });
    for (let n = 0; goldenStart + n * 5 * stepMs <= goldenEnd; n++) {
      const t = goldenStart + n * 5 * stepMs;
      const histogram = aHistogram(shape, n);
      // A reset that only a hint tells of is not in a chunk's samples, so it would not reach Prometheus.
      const counterReset = histogram.counterReset === 'reset' ? 'unknown' : histogram.counterReset;
      if (n % 61 === 60) store.appendStale(labels, t);
      else store.appendHistogram(labels, t, { ...histogram, counterReset });
    }
  }
  return store;
}

function floatValue(kind: number, n: number): number {
  const noise = (Math.imul(n, 2_654_435_761) >>> 8) % 1000;
  if (kind === 0) return 17;
  if (kind === 1) return n * 3 + (noise % 7);
  if (kind === 2) return n * 150_000 + noise * 811;
  if (kind === 3) return (n * 1000 + noise) / 997;
  return n % 50 === 0 ? NaN : 200 - noise / 8;
}

/** One chunk as the golden file has it. */
export interface GoldenChunk {
  readonly encoding: number;
  readonly minT: number;
  readonly maxT: number;
  readonly hex: string;
}

/** A store's chunks by series name and label, in the golden file's form. */
export function goldenChunks(store: Store): Record<string, GoldenChunk[]> {
  const all: Record<string, GoldenChunk[]> = {};
  for (const series of store.select([], goldenStart, goldenEnd)) {
    const { labels } = series;
    const found = series.chunks();
    // Prometheus encodes a chunk that is still open again when it is read, and then leaves out the reset header.
    const open = found.at(-1)!;
    if (open.encoding !== 1 && open.bytes[2] !== 0xc0) open.bytes[2] = 0;
    all[labels.map(([, value]) => value).join(' ')] = found.map(({ encoding, minT, maxT, bytes }) => ({
      encoding,
      minT,
      maxT,
      hex: Buffer.from(bytes).toString('hex'),
    }));
  }
  return all;
}

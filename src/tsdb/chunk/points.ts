import { OperatorError } from '../../base/errors.ts';
import type { Chunk } from '../types.ts';
import { isStale, staleHigh, staleLow } from './float-bits.ts';
import { encodeFloats } from './encode-floats.ts';
import { encodeHistogramPoints } from './histogram-appender.ts';
import { decodeHistogramChunk } from './histogram-decoder.ts';
import type { ResetHeader } from './histogram-decoder.ts';
import type { NativeHistogram } from './native-histogram.ts';
import { SampleBuffer } from './sample-buffer.ts';
import { decodeXorChunk } from './xor-decoder.ts';

/** One sample of any kind: the bits of a float (a stale marker is a float, too), or a native histogram. */
export interface Point {
  readonly t: number;
  readonly high: number;
  readonly low: number;
  readonly histogram?: NativeHistogram;
}

/**
 * Decodes a chunk to single samples, for rare work that looks into a chunk (late samples, deletes, cutting). Plain
 * queries decode floats into a SampleBuffer instead.
 * Errors: ERR_STORE_CORRUPT, also for an unknown encoding.
 */
export function decodePoints(chunk: Chunk): Point[] {
  if (chunk.encoding === 1) {
    const samples = new SampleBuffer(chunk.count);
    decodeXorChunk(chunk.bytes, samples);
    return Array.from({ length: samples.length }, (_, i) => ({
      t: samples.times[i]!,
      high: samples.highAt(i),
      low: samples.lowAt(i),
    }));
  }
  return decodeHistogramChunk(kindOf(chunk.encoding), chunk.bytes).points.map(({ t, histogram }) =>
    histogram ? { t, high: 0, low: 0, histogram } : { t, high: staleHigh, low: staleLow },
  );
}

/** The kind of histogram that an encoding holds. Errors: ERR_STORE_CORRUPT. */
export function kindOf(encoding: number): NativeHistogram['kind'] {
  if (encoding === 2) return 'integer';
  if (encoding === 3) return 'float';
  throw new OperatorError('ERR_STORE_CORRUPT', `chunk encoding ${encoding} is not known`);
}

/**
 * Encodes points in ascending time: runs of floats as XOR chunks, runs of histograms of one kind as histogram chunks. A
 * stale marker belongs to the run before it. `first` is the reset header of the first chunk, if that has histograms.
 */
export function encodePoints(points: readonly Point[], perChunk: number, first: ResetHeader = 'unknown'): Chunk[] {
  const chunks: Chunk[] = [];
  for (let from = 0; from < points.length;) {
    const kind = points[from]!.histogram?.kind;
    let to = from + 1;
    while (to < points.length && continues(kind, points[to]!)) to++;
    const run = points.slice(from, to);
    if (kind === undefined) chunks.push(...encodeFloats(run, perChunk));
    else {
      const histograms = run.map(({ t, histogram }) => ({ t, histogram: histogram ?? null }));
      const leading = run[0]!.histogram!.counterReset === 'gauge' ? 'gauge' : from === 0 ? first : 'unknown';
      chunks.push(...encodeHistogramPoints(kind, histograms, leading, perChunk));
    }
    from = to;
  }
  return chunks;
}

function continues(kind: NativeHistogram['kind'] | undefined, point: Point): boolean {
  if (point.histogram) return point.histogram.kind === kind;
  return kind === undefined || isStale(point.high, point.low);
}

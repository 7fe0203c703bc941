import type { Chunk } from '../types.ts';
import { decodeHistogramChunk } from './histogram-decoder.ts';
import { encodeChunks } from './encode-floats.ts';
import { decodePoints, encodePoints, kindOf } from './points.ts';
import { SampleBuffer } from './sample-buffer.ts';
import { decodeXorChunk } from './xor-decoder.ts';

const scratch = new SampleBuffer(256);

/**
 * The part of a chunk within [mint, maxt] (inclusive): the chunk itself if it lies inside, a new chunk if it reaches
 * beyond, undefined if no sample is left. A short window thus sends fewer bytes over the wire.
 */
export function recutChunk(chunk: Chunk, mint: number, maxt: number): Chunk | undefined {
  if (chunk.minT >= mint && chunk.maxT <= maxt) return chunk;
  if (chunk.maxT < mint || chunk.minT > maxt) return undefined;
  if (chunk.encoding !== 1) {
    const kept = decodePoints(chunk).filter(({ t }) => t >= mint && t <= maxt);
    const { header } = decodeHistogramChunk(kindOf(chunk.encoding), chunk.bytes);
    return encodePoints(kept, Infinity, kept[0]?.t === chunk.minT ? header : 'unknown')[0];
  }
  scratch.length = 0;
  decodeXorChunk(chunk.bytes, scratch);
  let from = 0;
  let to = scratch.length;
  while (from < to && scratch.times[from]! < mint) from++;
  while (to > from && scratch.times[to - 1]! > maxt) to--;
  return encodeChunks(scratch, from, to, Math.max(1, to - from))[0];
}

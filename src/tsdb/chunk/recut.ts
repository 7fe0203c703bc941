import type { XorChunk } from '../types.ts';
import { SampleBuffer } from './sample-buffer.ts';
import { XorAppender } from './xor-appender.ts';
import { decodeXorChunk } from './xor-decoder.ts';

/** Samples of a chunk the store writes; Prometheus cuts at the same number. */
export const samplesPerChunk = 120;

/** Encodes samples [from, to) of a buffer as chunks of at most `perChunk`. Times must ascend. */
export function encodeChunks(
  samples: SampleBuffer,
  from = 0,
  to = samples.length,
  perChunk = samplesPerChunk,
): XorChunk[] {
  const chunks: XorChunk[] = [];
  for (let start = from; start < to; start += perChunk) {
    const end = Math.min(to, start + perChunk);
    const appender = new XorAppender((end - start) * 3 + 32);
    for (let i = start; i < end; i++) appender.appendBits(samples.times[i]!, samples.highAt(i), samples.lowAt(i));
    chunks.push(sealed(appender));
  }
  return chunks;
}

/** The appender's content as an unchanging chunk. */
export function sealed(appender: XorAppender): XorChunk {
  return { minT: appender.minT, maxT: appender.maxT, count: appender.count, bytes: appender.bytes() };
}

/**
 * The part of a chunk within [mint, maxt] (inclusive): the chunk itself when it lies inside, a new one when it
 * overruns, undefined when nothing is left. Cuts what a short window sends over the wire.
 */
export function recutChunk(chunk: XorChunk, mint: number, maxt: number): XorChunk | undefined {
  if (chunk.minT >= mint && chunk.maxT <= maxt) return chunk;
  if (chunk.maxT < mint || chunk.minT > maxt) return undefined;
  const samples = new SampleBuffer(chunk.count);
  decodeXorChunk(chunk.bytes, samples);
  let from = 0;
  let to = samples.length;
  while (from < to && samples.times[from]! < mint) from++;
  while (to > from && samples.times[to - 1]! > maxt) to--;
  return encodeChunks(samples, from, to, samples.length)[0];
}

import type { Chunk } from '../types.ts';
import { SampleBuffer } from './sample-buffer.ts';
import { XorAppender } from './xor-appender.ts';

/** Samples of a chunk the store writes; Prometheus aims at the same number. */
export const samplesPerChunk = 120;

/** Encoding never suspends, so one appender serves all. */
const shared = new XorAppender(4096);

/** Encodes samples [from, to) of a buffer as chunks of at most `perChunk`. Times must ascend. */
export function encodeChunks(
  samples: SampleBuffer,
  from = 0,
  to = samples.length,
  perChunk = samplesPerChunk,
): Chunk[] {
  const chunks: Chunk[] = [];
  const { times, words } = samples;
  for (let start = from; start < to; start += perChunk) {
    const end = Math.min(to, start + perChunk);
    shared.reset();
    for (let i = start; i < end; i++) shared.appendWords(times[i]!, words, 2 * i);
    chunks.push({ encoding: 1, minT: shared.minT, maxT: shared.maxT, count: end - start, bytes: shared.bytes() });
  }
  return chunks;
}

/** As `encodeChunks`, from points. */
export function encodeFloats(
  points: readonly { readonly t: number; readonly high: number; readonly low: number }[],
  perChunk: number,
): Chunk[] {
  const samples = new SampleBuffer(points.length);
  for (const { t, high, low } of points) samples.pushBits(t, high, low);
  return encodeChunks(samples, 0, samples.length, perChunk);
}

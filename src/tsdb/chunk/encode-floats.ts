import type { Chunk } from '../types.ts';
import { SampleBuffer } from './sample-buffer.ts';
import { encodeXor, maxSampleBytes } from './xor-encoder.ts';
import { XorStates } from './xor-states.ts';

/** The largest number of samples in a chunk that the store writes; Prometheus has the same target. */
export const samplesPerChunk = 120;

/** Encoding never suspends, so one scratch buffer serves all calls; it grows to the largest chunk so far. */
const state = new XorStates(1);
let scratch = new Uint8Array(4096);
let scratchView = new DataView(scratch.buffer);

/**
 * Encodes samples [from, to) of a buffer as chunks of at most `perChunk`, byte for byte as Prometheus does.
 * Errors: RangeError for times that descend or are out of range, and for chunks of more than 65,535 samples.
 */
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
    const count = end - start;
    if (scratch.length < count * maxSampleBytes) {
      scratch = new Uint8Array(count * maxSampleBytes);
      scratchView = new DataView(scratch.buffer);
    }
    state.reset(0);
    encodeXor(state, 0, scratchView, 0, times, words, start, end);
    const bytes = scratch.slice(0, state.byteLength(0));
    state.putCount(0, bytes);
    chunks.push({ encoding: 1, minT: state.minT(0), maxT: state.maxT(0), count, bytes });
  }
  return chunks;
}

/** Like `encodeChunks`, for points, whose values are given as the high and low 32 bits of a double. */
export function encodeFloats(
  points: readonly { readonly t: number; readonly high: number; readonly low: number }[],
  perChunk: number,
): Chunk[] {
  const samples = new SampleBuffer(points.length);
  for (const { t, high, low } of points) samples.pushBits(t, high, low);
  return encodeChunks(samples, 0, samples.length, perChunk);
}

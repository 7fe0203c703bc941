import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { decodeHistogramChunk, decodeXorChunk, kindOf, SampleBuffer } from '../chunk/index.ts';
import type { NativeHistogram } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { Chunk } from '../types.ts';
import { readLabel } from './chunked-series.ts';
import { readHistogram, writeHistogram, writeStaleHistogram } from './histogram-message.ts';
import { encodeLabels } from './label-bytes.ts';

/** One series of a SAMPLES answer. */
export interface SampledSeries {
  readonly labels: Labels;
  readonly samples: SampleBuffer;
  /** Null is a stale marker. */
  readonly histograms: readonly { readonly t: number; readonly histogram: NativeHistogram | null }[];
}

const scratch = new SampleBuffer(256);

/**
 * Encodes one prometheus.TimeSeries with the samples of its chunks in [mint, maxt]; undefined when there are none.
 * Float values travel as bits, so stale markers are kept.
 */
export function encodeTimeSeries(
  labels: Labels,
  chunks: readonly Chunk[],
  mint: number,
  maxt: number,
): { readonly bytes: Uint8Array; readonly samples: number } | undefined {
  const out = new WireWriter(1024);
  out.raw(encodeLabels(labels));
  let samples = 0;
  const float = (t: number, high: number, low: number): void => {
    if (t < mint || t > maxt) return;
    samples++;
    view.setUint32(0, low, true);
    view.setUint32(4, high, true);
    out.key(2, 2).rawVarint(9 + 1 + int64Length(t));
    out.key(1, 1).raw(bits).int(2, t);
  };
  const histograms: { t: number; kind: NativeHistogram['kind']; histogram: NativeHistogram | null }[] = [];
  for (const chunk of chunks) {
    if (chunk.encoding === 1) {
      scratch.length = 0;
      decodeXorChunk(chunk.bytes, scratch);
      for (let i = 0; i < scratch.length; i++) float(scratch.times[i]!, scratch.highAt(i), scratch.lowAt(i));
      continue;
    }
    const kind = kindOf(chunk.encoding);
    for (const { t, histogram } of decodeHistogramChunk(kind, chunk.bytes).points) {
      if (t >= mint && t <= maxt) histograms.push({ t, kind, histogram });
    }
  }
  samples += histograms.length;
  for (const { t, kind, histogram } of histograms) {
    if (histogram) writeHistogram(out, 4, t, histogram);
    else writeStaleHistogram(out, 4, t, kind);
  }
  return samples === 0 ? undefined : { bytes: out.finish(), samples };
}

const bits = new Uint8Array(8);
const view = new DataView(bits.buffer);

/** prometheus.ReadResponse from each query's encoded series. */
export function encodeReadResponse(results: readonly (readonly Uint8Array[])[]): Uint8Array {
  const out = new WireWriter(4096);
  for (const series of results) {
    const inner = new WireWriter(series.reduce((n, s) => n + s.length + 8, 16));
    for (const bytes of series) inner.bytes(1, bytes);
    out.bytes(1, inner.finish());
  }
  return out.finish();
}

/** Reads a prometheus.ReadResponse: each query's series. Errors: ERR_INPUT_INVALID. */
export function decodeReadResponse(bytes: Uint8Array): SampledSeries[][] {
  const results: SampledSeries[][] = [];
  for (const reader = new WireReader(bytes); !reader.done;) {
    const key = reader.key();
    if (key === 10) results.push(readResult(reader.message()));
    else reader.skip(key & 7);
  }
  return results;
}

function readResult(reader: WireReader): SampledSeries[] {
  const all: SampledSeries[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) all.push(readTimeSeries(reader.message()));
    else reader.skip(key & 7);
  }
  return all;
}

function readTimeSeries(reader: WireReader): SampledSeries {
  const labels: [string, string][] = [];
  const samples = new SampleBuffer();
  const histograms: { t: number; histogram: NativeHistogram | null }[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) labels.push(readLabel(reader.message()));
    else if (key === 18) readSample(reader.message(), samples);
    else if (key === 34) histograms.push(readHistogram(reader.message()));
    else reader.skip(key & 7);
  }
  return { labels, samples, histograms };
}

function readSample(reader: WireReader, out: SampleBuffer): void {
  let t = 0;
  let high = 0;
  let low = 0;
  while (!reader.done) {
    const key = reader.key();
    if (key === 9) {
      low = reader.fixed32();
      high = reader.fixed32();
    } else if (key === 16) t = reader.int();
    else reader.skip(key & 7);
  }
  out.pushBits(t, high, low);
}

/** Bytes of an int64 varint. */
function int64Length(value: number): number {
  if (value < 0) return 10;
  let n = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) n++;
  return n;
}

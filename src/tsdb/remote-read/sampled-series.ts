import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { decodeHistogramChunk, decodeXorChunk, kindOf, SampleBuffer } from '../chunk/index.ts';
import type { NativeHistogram } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { Chunk } from '../types.ts';
import { writeHistogram, writeStaleHistogram } from './histogram-message.ts';
import { encodeLabels } from './label-bytes.ts';

const scratch = new SampleBuffer(256);

/**
 * Encodes one prometheus.TimeSeries with the samples of its chunks in [mint, maxt]; undefined when there are none.
 * Float values are copied as bits, so stale markers, which are NaNs with certain bits, are kept.
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

/** Encodes a prometheus.ReadResponse. `results` has the encoded series of each query. */
export function encodeReadResponse(results: readonly (readonly Uint8Array[])[]): Uint8Array {
  const out = new WireWriter(4096);
  for (const series of results) {
    const inner = new WireWriter(series.reduce((n, s) => n + s.length + 8, 16));
    for (const bytes of series) inner.bytes(1, bytes);
    out.bytes(1, inner.finish());
  }
  return out.finish();
}

/** The length of an int64 as a varint. Units: bytes. */
function int64Length(value: number): number {
  if (value < 0) return 10;
  let n = 1;
  for (let rest = value; rest > 127; rest = Math.floor(rest / 128)) n++;
  return n;
}

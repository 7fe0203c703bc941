import { WireReader, WireWriter } from '../../base/protobuf-wire.ts';
import { SampleBuffer } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import { encodeLabels, readLabel } from './chunked-series.ts';

/** One series of a SAMPLES answer. */
export interface SampledSeries {
  readonly labels: Labels;
  readonly samples: SampleBuffer;
}

/** Encodes one prometheus.TimeSeries with samples [from, to). Values travel as bits, so stale markers stay what they are. */
export function encodeTimeSeries(labels: Labels, samples: SampleBuffer, from: number, to: number): Uint8Array {
  const out = new WireWriter(256 + (to - from) * 20);
  out.raw(encodeLabels(labels));
  const bits = new Uint8Array(8);
  const view = new DataView(bits.buffer);
  for (let i = from; i < to; i++) {
    const t = samples.times[i]!;
    view.setUint32(0, samples.lowAt(i), true);
    view.setUint32(4, samples.highAt(i), true);
    out.key(2, 2).rawVarint(9 + 1 + int64Length(t));
    out.key(1, 1).raw(bits).int(2, t);
  }
  return out.finish();
}

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
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) labels.push(readLabel(reader.message()));
    else if (key === 18) readSample(reader.message(), samples);
    else reader.skip(key & 7);
  }
  return { labels, samples };
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

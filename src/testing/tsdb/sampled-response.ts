import { OperatorError } from '../../base/errors.ts';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import { floatOf, isStale, SampleBuffer } from '../../tsdb/chunk/index.ts';
import type { Labels, NativeHistogram, Span } from '../../tsdb/index.ts';
import { readLabel } from '../../tsdb/remote-read/chunked-series.ts';

/** One series of an answer of remote read in the form SAMPLES. */
export interface SampledSeries {
  readonly labels: Labels;
  readonly samples: SampleBuffer;
  /** Null is a stale marker. */
  readonly histograms: readonly { readonly t: number; readonly histogram: NativeHistogram | null }[];
}

/** Decodes a prometheus.ReadResponse: the series of each query. Errors: ERR_INPUT_INVALID. */
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

/** Numbers of prometheus.Histogram.ResetHint. */
const hints: readonly NativeHistogram['counterReset'][] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** Reads a prometheus.Histogram; null is a stale marker. Errors: ERR_INPUT_INVALID. */
function readHistogram(reader: WireReader): { t: number; histogram: NativeHistogram | null } {
  let stale = false;
  let kind: NativeHistogram['kind'] = 'integer';
  let [t, count, sum, schema, zeroThreshold, zeroCount, hint] = [0, 0, 0, 0, 0, 0, 0];
  const spans: { positive: Span[]; negative: Span[] } = { positive: [], negative: [] };
  const counts: { positive: number[]; negative: number[] } = { positive: [], negative: [] };
  const customValues: number[] = [];
  const readers: Record<number, () => void> = {
    8: () => (count = reader.uint()),
    17: () => ((count = reader.double()), (kind = 'float')),
    25: () => {
      const low = reader.fixed32();
      const high = reader.fixed32();
      stale = isStale(high, low);
      sum = floatOf(high, low);
    },
    32: () => (schema = unzigzag(reader.uint())),
    41: () => (zeroThreshold = reader.double()),
    48: () => (zeroCount = reader.uint()),
    57: () => ((zeroCount = reader.double()), (kind = 'float')),
    66: () => spans.negative.push(readSpan(reader.message())),
    74: () => readDeltas(reader.message(), counts.negative),
    82: () => readDoubles(reader.message(), counts.negative),
    90: () => spans.positive.push(readSpan(reader.message())),
    98: () => readDeltas(reader.message(), counts.positive),
    106: () => readDoubles(reader.message(), counts.positive),
    112: () => (hint = reader.uint()),
    120: () => (t = reader.int()),
    130: () => readDoubles(reader.message(), customValues),
  };
  while (!reader.done) {
    const key = reader.key();
    const read = readers[key];
    if (read) read();
    else reader.skip(key & 7);
  }
  if (stale) return { t, histogram: null };
  const counterReset = hints[hint];
  if (!counterReset) throw new OperatorError('ERR_INPUT_INVALID', `histogram reset hint ${hint}`);
  const { positive, negative } = counts;
  const bounds = { positiveSpans: spans.positive, negativeSpans: spans.negative, positive, negative, customValues };
  return { t, histogram: { kind, counterReset, schema, zeroThreshold, zeroCount, count, sum, ...bounds } };
}

function readSpan(reader: WireReader): Span {
  let offset = 0;
  let length = 0;
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) offset = unzigzag(reader.uint());
    else if (key === 16) length = reader.uint();
    else reader.skip(key & 7);
  }
  return { offset, length };
}

function readDeltas(reader: WireReader, out: number[]): void {
  let count = out.at(-1) ?? 0;
  while (!reader.done) out.push((count += unzigzag(reader.uint())));
}

function readDoubles(reader: WireReader, out: number[]): void {
  while (!reader.done) out.push(reader.double());
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

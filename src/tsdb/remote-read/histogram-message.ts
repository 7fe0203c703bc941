import { OperatorError } from '../../base/errors.ts';
import type { WireReader } from '../../base/wire/protobuf-wire.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { floatOf, isStale, staleHigh, staleLow } from '../chunk/index.ts';
import type { NativeHistogram, Span } from '../chunk/index.ts';

/** Numbers of prometheus.Histogram.ResetHint. */
const hints: readonly NativeHistogram['counterReset'][] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** Writes a prometheus.Histogram as field `field` of a message: whole counts as deltas, floats as they are. */
export function writeHistogram(out: WireWriter, field: number, t: number, h: NativeHistogram): void {
  const integer = h.kind === 'integer';
  out.message(field, (m) => {
    if (integer) m.uint(1, h.count).double(3, h.sum);
    else m.double(2, h.count).double(3, h.sum);
    m.uint(4, zigzag(h.schema)).double(5, h.zeroThreshold);
    if (integer) m.uint(6, h.zeroCount);
    else m.double(7, h.zeroCount);
    writeSpans(m, 8, h.negativeSpans);
    writeCounts(m, integer ? 9 : 10, h.negative, integer);
    writeSpans(m, 11, h.positiveSpans);
    writeCounts(m, integer ? 12 : 13, h.positive, integer);
    m.uint(14, hints.indexOf(h.counterReset)).int(15, t);
    writeDoubles(m, 16, h.customValues);
  });
}

/** Writes the stale marker of a histogram series: only a sum with the marker's bits. */
export function writeStaleHistogram(out: WireWriter, field: number, t: number, kind: NativeHistogram['kind']): void {
  out.message(field, (m) => {
    if (kind === 'integer') m.uint(1, 0);
    else m.double(2, 0);
    m.key(3, 1).raw(staleBits);
    if (kind === 'integer') m.uint(6, 0);
    else m.double(7, 0);
    m.int(15, t);
  });
}

const staleBits = new Uint8Array(8);
new DataView(staleBits.buffer).setUint32(0, staleLow, true);
new DataView(staleBits.buffer).setUint32(4, staleHigh, true);

/** Reads a prometheus.Histogram; null is a stale marker. Errors: ERR_INPUT_INVALID. */
export function readHistogram(reader: WireReader): { t: number; histogram: NativeHistogram | null } {
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

function writeSpans(out: WireWriter, field: number, spans: readonly Span[]): void {
  for (const { offset, length } of spans) out.message(field, (m) => void m.uint(1, zigzag(offset)).uint(2, length));
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

function writeCounts(out: WireWriter, field: number, counts: readonly number[], integer: boolean): void {
  if (!integer) return writeDoubles(out, field, counts);
  if (counts.length === 0) return;
  const packed = new WireWriter(counts.length * 3);
  let before = 0;
  for (const count of counts) {
    packed.rawVarint(zigzag(count - before));
    before = count;
  }
  out.bytes(field, packed.finish());
}

function readDeltas(reader: WireReader, out: number[]): void {
  let count = out.at(-1) ?? 0;
  while (!reader.done) out.push((count += unzigzag(reader.uint())));
}

function writeDoubles(out: WireWriter, field: number, values: readonly number[]): void {
  if (values.length > 0) out.bytes(field, new Uint8Array(Float64Array.from(values).buffer));
}

function readDoubles(reader: WireReader, out: number[]): void {
  while (!reader.done) out.push(reader.double());
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : value * -2 - 1;
}

function unzigzag(value: number): number {
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

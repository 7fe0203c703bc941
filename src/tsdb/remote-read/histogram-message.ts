import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import { staleHigh, staleLow } from '../chunk/index.ts';
import type { NativeHistogram, Span } from '../chunk/index.ts';

/** Numbers of prometheus.Histogram.ResetHint. */
const hints: readonly NativeHistogram['counterReset'][] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** Writes a prometheus.Histogram as field `field` of a message: integer counts as deltas, float counts unchanged. */
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

/** Writes the stale marker of a histogram series: a histogram with counts of 0, whose sum has the marker's bits. */
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

function writeSpans(out: WireWriter, field: number, spans: readonly Span[]): void {
  for (const { offset, length } of spans) out.message(field, (m) => void m.uint(1, zigzag(offset)).uint(2, length));
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

function writeDoubles(out: WireWriter, field: number, values: readonly number[]): void {
  if (values.length > 0) out.bytes(field, new Uint8Array(Float64Array.from(values).buffer));
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : value * -2 - 1;
}

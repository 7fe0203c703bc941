import { crc32c } from '../../base/wire/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import { staleHigh, staleLow } from '../chunk/index.ts';
import type { NativeHistogram, Span } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { Chunk, ChunkEncoding } from '../types.ts';
import { readSeriesRecord } from './series-record.ts';

/**
 * The log's records. Frame: u32 payload length, u32 CRC-32C over type and payload, u8 type, payload; little-endian.
 * Type 0 does not exist, so a page of zeros is never a record. Numbers of retired types are not reused.
 */
export const recordType = {
  /** A single series, as in checkpoints of earlier versions: ref, labels. */
  series: 1,
  /**
   * Samples in the format of version 1: (ref delta, time delta, 8 bytes of value)…, deltas against the previous sample.
   */
  rawSamples: 2,
  /** Stale markers: (ref delta, time delta)…. */
  stale: 3,
  /** First record of a checkpoint: the time below which all samples are in blocks, and the next free ref. */
  checkpointStart: 4,
  /** A chunk of floats of a series, in a checkpoint. */
  chunk: 5,
  /** Last record of a checkpoint: a checkpoint without it is incomplete. */
  checkpointEnd: 6,
  /**
   * Samples: (ref delta, time delta, value)…; the value's bytes from the most significant on, without the trailing zero
   * bytes.
   */
  samples: 7,
  /** One native histogram: ref, time, fields. */
  histogram: 8,
  /** Deleted samples: (ref, first time, last time)…. */
  deletions: 9,
  /** A chunk of any encoding: as `chunk`, with the encoding in front. */
  encodedChunk: 10,
  /** New series, each written as its difference from the previous one. Precedes their first samples and chunks. */
  newSeries: 11,
} as const;

export const frameHeaderBytes = 9;
/** No valid record is near this size: a larger length is damage. */
const maxPayloadBytes = 64 * 1024 * 1024;

const resetHints: readonly NativeHistogram['counterReset'][] = ['unknown', 'reset', 'not_reset', 'gauge'];

/** The sink of replayed records. */
export interface RecordSink {
  series(ref: number, labels: Labels): void;
  sample(ref: number, t: number, high: number, low: number): void;
  histogram(ref: number, t: number, histogram: NativeHistogram): void;
  deletion(ref: number, mint: number, maxt: number): void;
  /** The chunk's bytes are a view: copy them to keep them. */
  chunk?(ref: number, chunk: Chunk): void;
  checkpointStart?(minValidT: number, nextRef: number): void;
  checkpointEnd?(): void;
}

/** By record type, the checksum of the type byte. */
const typeSums: number[] = [];

/** Appends a payload as a frame to `out`. Errors: ERR_STORE_WRITE for one that recovery would take for damage. */
export function writeFrame(out: ByteWriter, type: number, payload: Uint8Array): void {
  if (payload.length > maxPayloadBytes) {
    throw new OperatorError('ERR_STORE_WRITE', `log: a record of ${payload.length} bytes, at most ${maxPayloadBytes}`);
  }
  out.u32(payload.length);
  out.u32(crc32c(payload, (typeSums[type] ??= crc32c(Uint8Array.of(type)))));
  out.u8(type);
  out.bytes(payload);
}

/** Payloads are built here one after the other: each is a view that is valid until the next one. */
const scratch = new ByteWriter(4096);

function payload(): ByteWriter {
  scratch.clear();
  return scratch;
}

/** Payload of `encodedChunk`. Like most payloads it lies in shared memory: frame it before the next one is built. */
export function chunkPayload(ref: number, chunk: Chunk): Uint8Array {
  const out = payload();
  out.varint(chunk.encoding);
  out.varint(ref);
  out.zigzag(chunk.minT);
  out.varint(chunk.maxT - chunk.minT);
  out.varint(chunk.count);
  out.bytes(chunk.bytes);
  return out.view();
}

/** Payload of `histogram`. */
export function histogramPayload(ref: number, t: number, h: NativeHistogram): Uint8Array {
  const out = payload();
  out.varint(ref);
  out.zigzag(t);
  out.varint((h.kind === 'float' ? 1 : 0) + 2 * resetHints.indexOf(h.counterReset));
  out.zigzag(h.schema);
  for (const value of [h.zeroThreshold, h.sum, h.count, h.zeroCount]) out.f64(value);
  for (const side of ['positive', 'negative'] as const) {
    out.varint(h[`${side}Spans`].length);
    for (const { offset, length } of h[`${side}Spans`]) {
      out.zigzag(offset);
      out.varint(length);
    }
    // Integer counts are mostly small, so a varint is shorter.
    for (const count of h[side])
      if (h.kind === 'integer') out.varint(count);
      else out.f64(count);
  }
  out.varint(h.customValues.length);
  for (const bound of h.customValues) out.f64(bound);
  return out.view();
}

/** Payload of `deletions`. */
export function deletionPayload(ref: number, mint: number, maxt: number): Uint8Array {
  const out = payload();
  out.varint(ref);
  out.f64(mint);
  out.f64(maxt);
  return out.view();
}

function readHistogram(reader: ByteReader): NativeHistogram {
  const flags = reader.varint();
  const kind = flags % 2 === 1 ? 'float' : 'integer';
  const counterReset = resetHints[flags >>> 1];
  if (!counterReset) throw new OperatorError('ERR_STORE_CORRUPT', 'log: unknown histogram flags');
  const schema = reader.zigzag();
  const [zeroThreshold, sum, count, zeroCount] = [reader.f64(), reader.f64(), reader.f64(), reader.f64()];
  const side = (): { spans: Span[]; counts: number[] } => {
    const spans: Span[] = [];
    let total = 0;
    for (let n = reader.varint(); n > 0; n--) {
      const offset = reader.zigzag();
      const length = reader.varint();
      spans.push({ offset, length });
      total += length;
    }
    const counts: number[] = [];
    for (; total > 0; total--) counts.push(kind === 'integer' ? reader.varint() : reader.f64());
    return { spans, counts };
  };
  const positive = side();
  const negative = side();
  const customValues: number[] = [];
  for (let n = reader.varint(); n > 0; n--) customValues.push(reader.f64());
  return {
    kind,
    counterReset,
    schema,
    zeroThreshold,
    sum,
    count,
    zeroCount,
    positiveSpans: positive.spans,
    negativeSpans: negative.spans,
    positive: positive.counts,
    negative: negative.counts,
    customValues,
  };
}

/** Payload of `checkpointStart`, in its own memory: other payloads may be built before it is framed. */
export function checkpointStartPayload(minValidT: number, nextRef: number): Uint8Array {
  const out = new ByteWriter(16);
  out.f64(minValidT);
  out.varint(nextRef);
  return out.view();
}

/** Why the reading of a log file stopped. */
export interface Damage {
  /** Offset of the first byte that is not part of a whole, valid record. */
  readonly at: number;
  readonly reason: 'torn' | 'checksum' | 'format';
}

/**
 * Checks frames and checksums only, and calls `seen` with the type of each record. Returns where and why the check
 * stopped early; undefined for an intact file.
 */
export function checkRecords(bytes: Uint8Array, start: number, seen: (type: number) => void): Damage | undefined {
  return walk(bytes, start, true, (type) => seen(type)).damage;
}

/**
 * Passes every valid record of `bytes` from `start` on to the sink, in order; returns where and why it stopped early,
 * and the number of records. `torn`: the file ends inside a record, as after a crash during a write.
 * `verify`: false when `checkRecords` has just validated all of it.
 */
export function readRecords(
  bytes: Uint8Array,
  start: number,
  sink: RecordSink,
  verify = true,
): { records: number; damage?: Damage } {
  return walk(bytes, start, verify, (type, reader) => readRecord(type, reader, sink));
}

function walk(
  bytes: Uint8Array,
  start: number,
  verify: boolean,
  visit: (type: number, payload: ByteReader) => void,
): { records: number; damage?: Damage } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // One reader for all records: a checkpoint has more than a hundred thousand.
  const reader = new ByteReader(bytes);
  let at = start;
  let records = 0;
  while (at < bytes.length) {
    if (bytes.length - at < frameHeaderBytes) return { records, damage: { at, reason: 'torn' } };
    const length = view.getUint32(at, true);
    const end = at + frameHeaderBytes + length;
    if (length > maxPayloadBytes) return { records, damage: { at, reason: 'format' } };
    if (end > bytes.length) return { records, damage: { at, reason: 'torn' } };
    if (verify && crc32c(bytes, 0, at + 8, end) !== view.getUint32(at + 4, true)) {
      return { records, damage: { at, reason: 'checksum' } };
    }
    try {
      reader.moveTo(at + frameHeaderBytes, end);
      visit(bytes[at + 8]!, reader);
    } catch (error) {
      if (error instanceof OperatorError) return { records, damage: { at, reason: 'format' } };
      throw error;
    }
    at = end;
    records++;
  }
  return { records };
}

/** The hot loop of a replay. */
function readSamples(reader: ByteReader, sink: RecordSink): void {
  for (let ref = 0, t = 0; !reader.done;) {
    ref += reader.zigzag();
    t += reader.zigzag();
    reader.trimmedWords();
    sink.sample(ref, t, reader.high, reader.low);
  }
}

function readRecord(type: number, reader: ByteReader, sink: RecordSink): void {
  switch (type) {
    case recordType.series: {
      const ref = reader.varint();
      const labels: [string, string][] = [];
      for (let n = reader.varint(); n > 0; n--) labels.push([reader.text(), reader.text()]);
      return sink.series(ref, labels);
    }
    case recordType.newSeries:
      return readSeriesRecord(reader, (ref, labels) => sink.series(ref, labels));
    case recordType.samples:
      return readSamples(reader, sink);
    case recordType.rawSamples:
    case recordType.stale: {
      const stale = type === recordType.stale;
      for (let ref = 0, t = 0; !reader.done;) {
        ref += reader.zigzag();
        t += reader.zigzag();
        sink.sample(ref, t, stale ? staleHigh : reader.u32(), stale ? staleLow : reader.u32());
      }
      return;
    }
    case recordType.histogram:
      return sink.histogram(reader.varint(), reader.zigzag(), readHistogram(reader));
    case recordType.deletions:
      while (!reader.done) sink.deletion(reader.varint(), reader.f64(), reader.f64());
      return;
    case recordType.chunk:
    case recordType.encodedChunk: {
      const encoding = (type === recordType.chunk ? 1 : reader.varint()) as ChunkEncoding;
      const ref = reader.varint();
      const minT = reader.zigzag();
      const maxT = minT + reader.varint();
      const count = reader.varint();
      return sink.chunk?.(ref, { encoding, minT, maxT, count, bytes: reader.view(reader.end - reader.pos) });
    }
    case recordType.checkpointStart:
      return sink.checkpointStart?.(reader.f64(), reader.varint());
    case recordType.checkpointEnd:
      return sink.checkpointEnd?.();
    default:
      throw new OperatorError('ERR_STORE_CORRUPT', `log record type ${type}`);
  }
}

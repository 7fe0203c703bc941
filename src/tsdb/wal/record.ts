import { crc32c } from '../../base/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import { staleHigh, staleLow } from '../chunk/index.ts';
import type { Labels } from '../labels.ts';
import type { XorChunk } from '../types.ts';

/**
 * The log's records. Frame: u32 payload length, u32 CRC-32C over type and payload, u8 type, payload; little-endian.
 * Type 0 does not exist, so a page of zeros is never a record. Numbers of retired types are not used again.
 */
export const recordType = {
  /** New series: ref, labels. Always stands before the first sample of its series. */
  series: 1,
  /** Samples: (ref delta, time delta, value bits)…, deltas against the sample before. */
  samples: 2,
  /** Stale markers: (ref delta, time delta)…. */
  stale: 3,
  /** First record of a checkpoint: the time below which blocks hold everything, the next free ref. */
  checkpointStart: 4,
  /** A chunk of a series, in a checkpoint. */
  chunk: 5,
  /** Last record of a checkpoint: without it the checkpoint is not whole. */
  checkpointEnd: 6,
} as const;

export const frameHeaderBytes = 9;
/** No record of ours is near this size: a larger length is damage. */
const maxPayloadBytes = 64 * 1024 * 1024;

/** Where replayed records go. */
export interface RecordSink {
  series(ref: number, labels: Labels): void;
  sample(ref: number, t: number, high: number, low: number): void;
  chunk?(ref: number, chunk: XorChunk): void;
  checkpointStart?(minValidT: number, nextRef: number): void;
  checkpointEnd?(): void;
}

/** Frames a payload behind what is in `out`. */
export function writeFrame(out: ByteWriter, type: number, payload: Uint8Array): void {
  out.u32(payload.length);
  out.u32(crc32c(payload, crc32c(Uint8Array.of(type))));
  out.u8(type);
  out.bytes(payload);
}

export function seriesPayload(ref: number, labels: Labels): Uint8Array {
  const out = new ByteWriter(256);
  out.varint(ref);
  out.varint(labels.length);
  for (const [name, value] of labels) {
    out.text(name);
    out.text(value);
  }
  return out.view();
}

export function chunkPayload(ref: number, chunk: XorChunk): Uint8Array {
  const out = new ByteWriter(chunk.bytes.length + 32);
  out.varint(ref);
  out.zigzag(chunk.minT);
  out.varint(chunk.maxT - chunk.minT);
  out.varint(chunk.count);
  out.bytes(chunk.bytes);
  return out.view();
}

export function checkpointStartPayload(minValidT: number, nextRef: number): Uint8Array {
  const out = new ByteWriter(16);
  out.f64(minValidT);
  out.varint(nextRef);
  return out.view();
}

/** What stopped the reading of a log file. */
export interface Damage {
  /** Offset of the first byte that is no whole, sound record. */
  readonly at: number;
  readonly reason: 'torn' | 'checksum' | 'format';
}

/**
 * Gives every sound record of `bytes` from `start` on to the sink, in order; returns where and why it had to stop
 * early, and the number of records. `torn`: the file ends inside a record, as after a crash in a write.
 */
export function readRecords(bytes: Uint8Array, start: number, sink: RecordSink): { records: number; damage?: Damage } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = start;
  let records = 0;
  while (at < bytes.length) {
    if (bytes.length - at < frameHeaderBytes) return { records, damage: { at, reason: 'torn' } };
    const length = view.getUint32(at, true);
    const end = at + frameHeaderBytes + length;
    if (length > maxPayloadBytes || end > bytes.length) return { records, damage: { at, reason: 'torn' } };
    if (crc32c(bytes, 0, at + 8, end) !== view.getUint32(at + 4, true)) {
      return { records, damage: { at, reason: 'checksum' } };
    }
    try {
      readRecord(bytes[at + 8]!, new ByteReader(bytes, at + frameHeaderBytes, end), sink);
    } catch (error) {
      if (error instanceof OperatorError) return { records, damage: { at, reason: 'format' } };
      throw error;
    }
    at = end;
    records++;
  }
  return { records };
}

function readRecord(type: number, reader: ByteReader, sink: RecordSink): void {
  switch (type) {
    case recordType.series: {
      const ref = reader.varint();
      const labels: [string, string][] = [];
      for (let n = reader.varint(); n > 0; n--) labels.push([reader.text(), reader.text()]);
      return sink.series(ref, labels);
    }
    case recordType.samples:
    case recordType.stale: {
      const stale = type === recordType.stale;
      for (let ref = 0, t = 0; !reader.done;) {
        ref += reader.zigzag();
        t += reader.zigzag();
        sink.sample(ref, t, stale ? staleHigh : reader.u32(), stale ? staleLow : reader.u32());
      }
      return;
    }
    case recordType.chunk: {
      const ref = reader.varint();
      const minT = reader.zigzag();
      const maxT = minT + reader.varint();
      const count = reader.varint();
      return sink.chunk?.(ref, { minT, maxT, count, bytes: reader.bytes(reader.end - reader.pos) });
    }
    case recordType.checkpointStart:
      return sink.checkpointStart?.(reader.f64(), reader.varint());
    case recordType.checkpointEnd:
      return sink.checkpointEnd?.();
    default:
      throw new OperatorError('ERR_STORE_CORRUPT', `log record type ${type}`);
  }
}

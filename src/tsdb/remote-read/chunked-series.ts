import { crc32c, crc32cConcat } from '../../base/wire/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Labels } from '../labels.ts';
import type { Chunk, ChunkEncoding } from '../types.ts';

/**
 * The values of prometheus.Chunk.Encoding that we write and read: XOR floats and the two kinds of native histograms.
 * We support neither 4 (XOR2) nor 5 and 6 (histograms with start times).
 */
const encodings: readonly number[] = [1, 2, 3];

/**
 * Most series, labels and chunks of one message. Agents and Prometheus write one series to a message, and at most 1 MiB
 * of chunks, of which each has more than 20 bytes.
 */
const maxElements = 200_000;

/** One series of a streamed answer: the content of a prometheus.ChunkedReadResponse frame. */
export interface ChunkedSeries {
  readonly labels: Labels;
  readonly chunks: readonly Chunk[];
  readonly queryIndex: number;
}

/** Approximate size of a chunk inside a message, for splitting frames. */
export function encodedChunkBytes(chunk: Chunk): number {
  return chunk.bytes.length + 24;
}

/**
 * Encodes one frame of a streamed answer with one series: length as uvarint, CRC-32C of the message as u32 big-endian,
 * message.
 */
export function encodeSeriesFrame(labels: Uint8Array, chunks: readonly Chunk[], queryIndex: number): Uint8Array {
  const out = Buffer.allocUnsafe(seriesFrameLength(labels, chunks, queryIndex));
  putSeriesFrame(out, 0, labels, chunks, queryIndex);
  return out;
}

export function seriesFrameLength(labels: Uint8Array, chunks: readonly Chunk[], queryIndex: number): number {
  const message = messageLength(seriesLength(labels, chunks), queryIndex);
  return varintLength(message) + 4 + message;
}

function seriesLength(labels: Uint8Array, chunks: readonly Chunk[]): number {
  let series = labels.length;
  for (const chunk of chunks) {
    const length = chunkLength(chunk);
    series += 1 + varintLength(length) + length;
  }
  return series;
}

function messageLength(series: number, queryIndex: number): number {
  return 1 + varintLength(series) + series + (queryIndex > 0 ? 1 + varintLength(queryIndex) : 0);
}

/**
 * Writes a frame at `start`, where there is room for it; returns its end. The frame is written in place, without a
 * copy: writing frames is most of the work of a scan of many series.
 */
export function putSeriesFrame(
  out: Buffer,
  start: number,
  labels: Uint8Array,
  chunks: readonly Chunk[],
  queryIndex: number,
): number {
  const series = seriesLength(labels, chunks);
  let at = putVarint(out, start, messageLength(series, queryIndex)) + 4;
  const header = at;
  out[at++] = 0x0a;
  at = putVarint(out, at, series);
  out.set(labels, at);
  at += labels.length;
  // The checksum of out[header, summed).
  let crc = 0;
  let summed = header;
  for (const chunk of chunks) {
    out[at++] = 0x12;
    at = putVarint(out, at, chunkLength(chunk));
    at = putTime(out, at, 0x08, chunk.minT);
    at = putTime(out, at, 0x10, chunk.maxT);
    out[at++] = 0x18;
    out[at++] = chunk.encoding;
    out[at++] = 0x22;
    at = putVarint(out, at, chunk.bytes.length);
    out.set(chunk.bytes, at);
    if (chunk.crc !== undefined) {
      crc = crc32cConcat(crc32c(out, crc, summed, at), chunk.crc, chunk.bytes.length);
      summed = at + chunk.bytes.length;
    }
    at += chunk.bytes.length;
  }
  if (queryIndex > 0) {
    out[at++] = 0x10;
    at = putVarint(out, at, queryIndex);
  }
  out.writeUInt32BE(crc32c(out, crc, summed, at), header - 4);
  return at;
}

function chunkLength({ minT, maxT, bytes }: Chunk): number {
  return timeLength(minT) + timeLength(maxT) + 2 + 1 + varintLength(bytes.length) + bytes.length;
}

/** Bytes of an int64 field with its key; a negative number takes ten. */
function timeLength(t: number): number {
  return 1 + (t < 0 ? 10 : varintLength(t));
}

/**
 * The number of values that four bytes of a varint can have. Larger numbers are split, because bit operations have 32
 * bits.
 */
const fourBytes = 2 ** 28;

function varintLength(value: number): number {
  let n = 1;
  let rest = value;
  for (; rest >= fourBytes; rest = Math.floor(rest / fourBytes)) n += 4;
  for (; rest > 127; rest >>>= 7) n++;
  return n;
}

function putTime(out: Uint8Array, at: number, key: number, t: number): number {
  out[at] = key;
  if (t >= 0) return putVarint(out, at + 1, t);
  const negative = new WireWriter(16).int(1, t).finish();
  out.set(negative.subarray(1), at + 1);
  return at + negative.length;
}

function putVarint(out: Uint8Array, start: number, value: number): number {
  let at = start;
  let rest = value;
  while (rest >= fourBytes) {
    const low = rest % fourBytes;
    out[at++] = low | 128;
    out[at++] = (low >>> 7) | 128;
    out[at++] = (low >>> 14) | 128;
    out[at++] = (low >>> 21) | 128;
    rest = (rest - low) / fourBytes;
  }
  for (; rest > 127; rest >>>= 7) out[at++] = rest | 128;
  out[at++] = rest;
  return at;
}

/**
 * Reads one ChunkedReadResponse. Chunk bytes are views into `bytes`.
 * Errors: ERR_INPUT_INVALID, also for a chunk of an unknown encoding, which the error names, for a label without a name,
 * and for more than 200,000 series, labels and chunks.
 */
export function decodeChunkedSeries(bytes: Uint8Array): ChunkedSeries[] {
  const reader = new WireReader(bytes);
  const found: { labels: Labels; chunks: Chunk[] }[] = [];
  let elements = 0;
  const count = (): void => {
    if (++elements > maxElements) throw invalid(`more than ${maxElements} series, labels and chunks`);
  };
  let queryIndex = 0;
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) found.push(readSeries(reader.message(), count));
    else if (key === 16) queryIndex = reader.int();
    else reader.skip(key & 7);
  }
  return found.map((series) => ({ ...series, queryIndex }));
}

function readSeries(reader: WireReader, count: () => void): { labels: Labels; chunks: Chunk[] } {
  const labels: [string, string][] = [];
  const chunks: Chunk[] = [];
  count();
  while (!reader.done) {
    const key = reader.key();
    if (key === 10 || key === 18) count();
    if (key === 10) labels.push(readLabel(reader.message()));
    else if (key === 18) chunks.push(readChunk(reader.message()));
    else reader.skip(key & 7);
  }
  return { labels, chunks };
}

function invalid(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `remote read answer: ${reason}`);
}

/** A prometheus.Label. */
export function readLabel(reader: WireReader): [string, string] {
  let name = '';
  let value = '';
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) name = reader.string();
    else if (key === 18) value = reader.string();
    else reader.skip(key & 7);
  }
  return [name, value];
}

function readChunk(reader: WireReader): Chunk {
  let minT = 0;
  let maxT = 0;
  let type = 0;
  let bytes: Uint8Array = new Uint8Array(0);
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) minT = reader.int();
    else if (key === 16) maxT = reader.int();
    else if (key === 24) type = reader.uint();
    else if (key === 34) bytes = reader.view();
    else reader.skip(key & 7);
  }
  if (!encodings.includes(type)) {
    throw new OperatorError('ERR_INPUT_INVALID', `chunk encoding ${type} is not supported (XOR and histograms are)`);
  }
  const count = bytes.length < 2 ? 0 : (bytes[0]! << 8) | bytes[1]!;
  return { encoding: type as ChunkEncoding, minT, maxT, count, bytes };
}

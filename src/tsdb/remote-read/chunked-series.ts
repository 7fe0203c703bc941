import { OperatorError } from '../../base/errors.ts';
import { WireReader, WireWriter } from '../../base/protobuf-wire.ts';
import type { Labels } from '../labels.ts';
import type { XorChunk } from '../types.ts';

/** prometheus.Chunk.Encoding: the only one we write and read. 2 and 3 are histograms, 4 XOR2, 5 and 6 histograms with start times. */
const xorEncoding = 1;

/** One series of a streamed answer: the content of a prometheus.ChunkedReadResponse frame. */
export interface ChunkedSeries {
  readonly labels: Labels;
  readonly chunks: readonly XorChunk[];
  readonly queryIndex: number;
}

/** The encoded labels of a series, written once and used for each of its frames. */
export function encodeLabels(labels: Labels): Uint8Array {
  const out = new WireWriter(256);
  for (const [name, value] of labels) out.message(1, (l) => void l.string(1, name).string(2, value));
  return out.finish();
}

/** Size of a chunk inside a message, near enough to split frames by. */
export function encodedChunkBytes(chunk: XorChunk): number {
  return chunk.bytes.length + 24;
}

export function encodeChunkedSeries(labels: Uint8Array, chunks: readonly XorChunk[], queryIndex: number): Uint8Array {
  const series = new WireWriter(labels.length + chunks.reduce((n, c) => n + encodedChunkBytes(c), 16));
  series.raw(labels);
  for (const { minT, maxT, bytes } of chunks) {
    series.message(2, (c) => void c.int(1, minT).int(2, maxT).uint(3, xorEncoding).bytes(4, bytes));
  }
  const out = new WireWriter(series.length + 16);
  out.bytes(1, series.finish());
  if (queryIndex > 0) out.int(2, queryIndex);
  return out.finish();
}

/**
 * Reads one ChunkedReadResponse. Chunk bytes are views into `bytes`.
 * Errors: ERR_INPUT_INVALID; a chunk of another encoding than XOR is named and refused, never guessed at.
 */
export function decodeChunkedSeries(bytes: Uint8Array): ChunkedSeries[] {
  const reader = new WireReader(bytes);
  const found: { labels: Labels; chunks: XorChunk[] }[] = [];
  let queryIndex = 0;
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) found.push(readSeries(reader.message()));
    else if (key === 16) queryIndex = reader.int();
    else reader.skip(key & 7);
  }
  return found.map((series) => ({ ...series, queryIndex }));
}

function readSeries(reader: WireReader): { labels: Labels; chunks: XorChunk[] } {
  const labels: [string, string][] = [];
  const chunks: XorChunk[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) labels.push(readLabel(reader.message()));
    else if (key === 18) chunks.push(readChunk(reader.message()));
    else reader.skip(key & 7);
  }
  return { labels, chunks };
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

function readChunk(reader: WireReader): XorChunk {
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
  if (type !== xorEncoding) {
    throw new OperatorError('ERR_INPUT_INVALID', `chunk encoding ${type} is not supported (only XOR floats are)`);
  }
  return { minT, maxT, count: bytes.length < 2 ? 0 : (bytes[0]! << 8) | bytes[1]!, bytes };
}

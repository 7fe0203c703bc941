import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { compareLabels, type Label, type Labels } from '../../src/promql/index.ts';
import { SampleBuffer } from '../../src/tsdb/index.ts';
import { encodeChunks } from '../../src/tsdb/chunk/index.ts';
import { interval, start, type BenchSeries } from './data.ts';

/** Series in label order with their chunks. Like a block of a store, it has an index and the bytes of all chunks. */
export interface ChunkFile {
  readonly series: readonly { readonly labels: Labels; readonly firstChunk: number; readonly chunks: number }[];
  readonly minT: Float64Array;
  readonly maxT: Float64Array;
  /** Where each chunk begins in `bytes`, and as the last entry where the last chunk ends. */
  readonly offset: Uint32Array;
  readonly bytes: Uint8Array;
}

/** The index as it is written: labels as pairs of symbols, chunks as minT, maxT and length. */
interface Index {
  readonly symbols: readonly string[];
  readonly series: readonly (readonly number[])[];
  readonly chunks: readonly (readonly [number, number, number])[];
  /** Number of chunks of each series. */
  readonly counts: readonly number[];
}

/** Writes series as XOR chunks of 120 samples, unless the file exists. */
export function writeChunkFile(path: string, all: readonly BenchSeries[]): void {
  if (existsSync(path)) return;
  const symbols = new Map<string, number>();
  const symbol = (text: string): number => {
    if (!symbols.has(text)) symbols.set(text, symbols.size);
    return symbols.get(text)!;
  };
  const series: number[][] = [];
  const chunks: [number, number, number][] = [];
  const counts: number[] = [];
  const parts: Uint8Array[] = [];
  for (const { labels, values } of [...all].sort((a, b) => compareLabels(a.labels, b.labels))) {
    const buffer = new SampleBuffer(values.length);
    const words = new Uint32Array(values.buffer);
    values.forEach((_, i) => buffer.pushBits(start + i * interval, words[2 * i + 1]!, words[2 * i]!));
    const found = encodeChunks(buffer);
    for (const { minT, maxT, bytes } of found) {
      chunks.push([minT, maxT, bytes.length]);
      parts.push(bytes);
    }
    series.push(labels.flatMap((label) => label.map(symbol)));
    counts.push(found.length);
  }
  const index: Index = { symbols: [...symbols.keys()], series, chunks, counts };
  const head = Buffer.from(JSON.stringify(index));
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.tmp`, Buffer.concat([size, head, ...parts]));
  renameSync(`${path}.tmp`, path);
}

/** Reads what `writeChunkFile` wrote. Series with the same label share one object for it. */
export function readChunkFile(path: string): ChunkFile {
  const file = readFileSync(path);
  const headEnd = 4 + file.readUInt32LE(0);
  const { symbols, series, chunks, counts } = JSON.parse(file.toString('utf8', 4, headEnd)) as Index;
  const interned = new Map<string, Label>();
  const label = (name: number, value: number): Label => {
    const key = `${name} ${value}`;
    if (!interned.has(key)) interned.set(key, [symbols[name]!, symbols[value]!]);
    return interned.get(key)!;
  };
  let firstChunk = 0;
  const read = series.map((pairs, s) => {
    const labels = Array.from({ length: pairs.length / 2 }, (_, i) => label(pairs[2 * i]!, pairs[2 * i + 1]!));
    const one = { labels, firstChunk, chunks: counts[s]! };
    firstChunk += one.chunks;
    return one;
  });
  const offset = new Uint32Array(chunks.length + 1);
  chunks.forEach(([, , length], i) => (offset[i + 1] = offset[i]! + length));
  return {
    series: read,
    minT: Float64Array.from(chunks, ([minT]) => minT),
    maxT: Float64Array.from(chunks, ([, maxT]) => maxT),
    offset,
    // A Uint8Array and not a Buffer: a view of a part of a Buffer takes longer to make.
    bytes: new Uint8Array(file.buffer, file.byteOffset + headEnd),
  };
}

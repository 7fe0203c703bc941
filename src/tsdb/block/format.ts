import { crc32c } from '../../base/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader, ByteWriter } from '../bytes.ts';
import type { Labels } from '../labels.ts';
import type { PostingList, PostingsIndex } from '../postings.ts';

/**
 * A block is one file that never changes: magic, chunks (each followed by its CRC-32C, u32 LE), index, footer.
 * Index: symbols, series in label order (symbol pairs, then each chunk's times, count, offset, length), postings
 * (delta-coded series numbers for each name and value). Footer: index offset and length, its CRC-32C, time range
 * [from, to), sample count, magic. Pure: this file knows bytes, not files.
 */
export const blockMagic = new TextEncoder().encode('SVCBLK1\n');
export const footerBytes = 48;

/** Where one chunk of one series lies. Times in ms, `length` without the checksum. */
export interface ChunkPlace {
  readonly minT: number;
  readonly maxT: number;
  readonly count: number;
  readonly offset: number;
  readonly length: number;
}

export interface BlockSeries {
  readonly labels: Labels;
  readonly chunks: readonly ChunkPlace[];
}

export interface BlockFooter {
  readonly indexOffset: number;
  readonly indexLength: number;
  readonly indexCrc: number;
  /** The block's aligned range [from, to). */
  readonly from: number;
  readonly to: number;
  readonly samples: number;
}

/** Encodes the index of series that are already in label order. */
export function encodeIndex(series: readonly BlockSeries[]): Uint8Array {
  const symbols = new Map<string, number>();
  const symbol = (text: string): number => {
    let id = symbols.get(text);
    if (id === undefined) symbols.set(text, (id = symbols.size));
    return id;
  };
  const body = new ByteWriter(64 * 1024);
  const postings = new Map<number, Map<number, number[]>>();
  body.varint(series.length);
  series.forEach(({ labels, chunks }, ordinal) => {
    body.varint(labels.length);
    for (const [name, value] of labels) {
      const n = symbol(name);
      const v = symbol(value);
      body.varint(n);
      body.varint(v);
      const values = getOrAdd(postings, n, () => new Map<number, number[]>());
      getOrAdd(values, v, () => []).push(ordinal);
    }
    body.varint(chunks.length);
    let t = 0;
    let offset = 0;
    for (const chunk of chunks) {
      body.zigzag(chunk.minT - t);
      body.varint(chunk.maxT - chunk.minT);
      body.varint(chunk.count);
      body.varint(chunk.offset - offset);
      body.varint(chunk.length);
      t = chunk.maxT;
      offset = chunk.offset;
    }
  });
  body.varint(postings.size);
  for (const [name, values] of postings) {
    body.varint(name);
    body.varint(values.size);
    for (const [value, ordinals] of values) {
      body.varint(value);
      body.varint(ordinals.length);
      let previous = 0;
      for (const ordinal of ordinals) {
        body.varint(ordinal - previous);
        previous = ordinal;
      }
    }
  }
  const out = new ByteWriter(body.length + 4096);
  out.varint(symbols.size);
  for (const text of symbols.keys()) out.text(text);
  out.bytes(body.view());
  return out.view();
}

export function encodeFooter(footer: BlockFooter): Uint8Array {
  const out = new ByteWriter(footerBytes);
  out.f64(footer.indexOffset);
  out.u32(footer.indexLength);
  out.u32(footer.indexCrc);
  out.f64(footer.from);
  out.f64(footer.to);
  out.f64(footer.samples);
  out.bytes(blockMagic);
  return out.view();
}

/** Errors: ERR_STORE_CORRUPT. */
export function decodeFooter(bytes: Uint8Array): BlockFooter {
  if (bytes.length !== footerBytes || !blockMagic.every((b, i) => bytes[footerBytes - 8 + i] === b)) {
    throw new OperatorError('ERR_STORE_CORRUPT', 'block: no footer');
  }
  const reader = new ByteReader(bytes);
  const [indexOffset, indexLength, indexCrc] = [reader.f64(), reader.u32(), reader.u32()];
  return { indexOffset, indexLength, indexCrc, from: reader.f64(), to: reader.f64(), samples: reader.f64() };
}

/** A block's index in memory: symbols as texts, everything else as packed numbers, postings left encoded. */
export class BlockIndex implements PostingsIndex {
  readonly seriesCount: number;
  readonly #bytes: Uint8Array;
  readonly #symbols: string[] = [];
  /** Offset of each series in the index. */
  readonly #seriesAt: Uint32Array;
  /** Offset of each list, by name and value. */
  readonly #lists = new Map<string, Map<string, number>>();

  /** Errors: ERR_STORE_CORRUPT when the checksum or any number does not fit. */
  constructor(bytes: Uint8Array, crc: number) {
    if (crc32c(bytes) !== crc) throw new OperatorError('ERR_STORE_CORRUPT', 'block: index checksum');
    this.#bytes = bytes;
    const reader = new ByteReader(bytes);
    for (let n = reader.varint(); n > 0; n--) this.#symbols.push(reader.text());
    this.seriesCount = reader.varint();
    if (this.seriesCount > bytes.length) throw new OperatorError('ERR_STORE_CORRUPT', 'block: series count');
    this.#seriesAt = new Uint32Array(this.seriesCount);
    for (let i = 0; i < this.seriesCount; i++) {
      this.#seriesAt[i] = reader.pos;
      for (let n = reader.varint() * 2; n > 0; n--) reader.varint();
      for (let n = reader.varint() * 5; n > 0; n--) reader.varint();
    }
    for (let names = reader.varint(); names > 0; names--) {
      const lists = new Map<string, number>();
      this.#lists.set(this.#symbol(reader.varint()), lists);
      for (let values = reader.varint(); values > 0; values--) {
        lists.set(this.#symbol(reader.varint()), reader.pos);
        for (let n = reader.varint(); n > 0; n--) reader.varint();
      }
    }
  }

  series(ordinal: number): BlockSeries {
    const reader = new ByteReader(this.#bytes, this.#seriesAt[ordinal]);
    const labels: [string, string][] = [];
    for (let n = reader.varint(); n > 0; n--) {
      labels.push([this.#symbol(reader.varint()), this.#symbol(reader.varint())]);
    }
    const chunks: ChunkPlace[] = [];
    let t = 0;
    let at = 0;
    for (let n = reader.varint(); n > 0; n--) {
      const minT = t + reader.zigzag();
      const maxT = minT + reader.varint();
      const count = reader.varint();
      const offset = at + reader.varint();
      chunks.push({ minT, maxT, count, offset, length: reader.varint() });
      t = maxT;
      at = offset;
    }
    return { labels, chunks };
  }

  all(): PostingList {
    return Uint32Array.from({ length: this.seriesCount }, (_, i) => i);
  }

  values(name: string): Iterable<string> {
    return this.#lists.get(name)?.keys() ?? [];
  }

  postings(name: string, value: string): PostingList | undefined {
    const at = this.#lists.get(name)?.get(value);
    if (at === undefined) return undefined;
    const reader = new ByteReader(this.#bytes, at);
    const list = new Uint32Array(reader.varint());
    let ordinal = 0;
    for (let i = 0; i < list.length; i++) list[i] = ordinal += reader.varint();
    return list;
  }

  #symbol(id: number): string {
    const text = this.#symbols[id];
    if (text === undefined) throw new OperatorError('ERR_STORE_CORRUPT', `block: symbol ${id}`);
    return text;
  }
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

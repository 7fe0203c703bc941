import { crc32c } from '../../base/wire/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader } from '../bytes.ts';
import { compareUtf8 } from '../labels.ts';
import type { Labels } from '../labels.ts';
import type { PostingList, PostingsIndex } from '../postings.ts';
import type { ChunkEncoding } from '../types.ts';
import { chunkCrcBytes } from './format.ts';
import type { BlockSeries, ChunkPlace } from './format.ts';

/**
 * For the values of one label name, in order: the symbol of each (the number of its text), and the offset of its list
 * of series.
 */
interface ValueTable {
  readonly symbols: Uint32Array;
  readonly lists: Uint32Array;
}

/**
 * A block's index in memory: the bytes of the file, and the offsets of its parts. Series have ordinal numbers in label
 * order. Texts, values and lists are decoded on demand, so an open block that is not queried costs little more memory
 * than its index takes in the file.
 */
export class PagedBlockIndex implements PostingsIndex {
  readonly seriesCount: number;
  readonly #bytes: Uint8Array;
  readonly #symbolAt: Uint32Array;
  readonly #texts: (string | undefined)[] = [];
  /** Offset of each series' record. */
  readonly #seriesAt: Uint32Array;
  /** Label name → the offset of its table of values, or the decoded table. */
  readonly #names = new Map<string, number | ValueTable>();
  /** Reads the series' records. */
  readonly #records: ByteReader;
  /** The labels decoded last, and their symbols: the next series shares most of them. */
  #last: Labels = [];
  #lastSymbols: number[] = [];

  /** Errors: ERR_STORE_CORRUPT when the checksum or any number does not fit. */
  constructor(bytes: Uint8Array, crc: number) {
    if (crc32c(bytes) !== crc) throw corrupt('index checksum');
    this.#bytes = bytes;
    this.#records = new ByteReader(bytes);
    const reader = new ByteReader(bytes);
    this.#symbolAt = offsets(reader);
    this.#seriesAt = offsets(reader);
    this.seriesCount = this.#seriesAt.length;
    for (let names = reader.varint(); names > 0; names--) {
      const name = this.#text(reader.varint());
      const length = reader.varint();
      this.#names.set(name, reader.pos);
      reader.skip(length);
    }
  }

  series(ordinal: number): BlockSeries {
    const reader = this.#records;
    reader.pos = this.#seriesAt[ordinal]!;
    reader.varint();
    const labels = this.#readLabels(reader);
    const chunks: ChunkPlace[] = [];
    const count = reader.varint();
    let offset = reader.varint();
    let t = 0;
    for (let i = 0; i < count; i++) {
      const minT = t + reader.zigzag();
      const maxT = minT + reader.varint();
      const packed = reader.varint();
      const length = reader.varint();
      const encoding = (packed & 3) as ChunkEncoding;
      chunks.push({ encoding, minT, maxT, count: packed >>> 2, offset, length });
      offset += length + chunkCrcBytes;
      t = maxT;
    }
    return { labels, chunks };
  }

  #readLabels(reader: ByteReader): Labels {
    const [last, known] = [this.#last, this.#lastSymbols];
    const labels: Labels[number][] = [];
    const symbols: number[] = [];
    for (let n = reader.varint(); n > 0; n--) {
      const [name, value] = [reader.varint(), reader.varint()];
      const at = labels.length;
      const isShared = known[2 * at] === name && known[2 * at + 1] === value;
      labels.push(isShared ? last[at]! : [this.#text(name), this.#text(value)]);
      symbols.push(name, value);
    }
    this.#lastSymbols = symbols;
    return (this.#last = labels);
  }

  /** Adds to `texts` the names of a series' labels, or the value of label `name` when it is given. */
  collect(ordinal: number, name: string | undefined, texts: Set<string>): void {
    const reader = new ByteReader(this.#bytes, this.#seriesAt[ordinal]);
    reader.varint();
    for (let n = reader.varint(); n > 0; n--) {
      const own = this.#text(reader.varint());
      const value = reader.varint();
      if (name === undefined) texts.add(own);
      else if (own === name) return void texts.add(this.#text(value));
    }
  }

  all(): PostingList {
    return Uint32Array.from({ length: this.seriesCount }, (_, i) => i);
  }

  names(): Iterable<string> {
    return this.#names.keys();
  }

  *values(name: string): Iterable<string> {
    const table = this.#table(name);
    if (table) for (const symbol of table.symbols) yield this.#text(symbol);
  }

  get size(): number {
    return this.seriesCount;
  }

  postings(name: string, value: string): PostingList | undefined {
    const at = this.#listAt(name, value);
    return at === undefined ? undefined : this.#list(at);
  }

  count(name: string, value: string): number {
    const at = this.#listAt(name, value);
    return at === undefined ? 0 : new ByteReader(this.#bytes, at).varint();
  }

  #listAt(name: string, value: string): number | undefined {
    const table = this.#table(name);
    if (!table) return undefined;
    let low = 0;
    let high = table.symbols.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = compareUtf8(this.#text(table.symbols[middle]!), value);
      if (order === 0) return table.lists[middle]!;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }

  #list(at: number): Uint32Array {
    const reader = new ByteReader(this.#bytes, at);
    const list = new Uint32Array(reader.varint());
    let ordinal = 0;
    for (let i = 0; i < list.length; i++) list[i] = ordinal += reader.varint();
    return list;
  }

  #table(name: string): ValueTable | undefined {
    const known = this.#names.get(name);
    if (typeof known !== 'number') return known;
    const reader = new ByteReader(this.#bytes, known);
    const count = reader.varint();
    const symbols = new Uint32Array(count);
    const lists = new Uint32Array(count);
    let at = 0;
    for (let i = 0; i < count; i++) {
      symbols[i] = reader.varint();
      lists[i] = at;
      at += reader.varint();
    }
    const table = { symbols, lists: lists.map((offset) => offset + reader.pos) };
    this.#names.set(name, table);
    return table;
  }

  #text(symbol: number): string {
    const known = this.#texts[symbol];
    if (known !== undefined) return known;
    const at = this.#symbolAt[symbol];
    if (at === undefined) throw corrupt(`symbol ${symbol}`);
    return (this.#texts[symbol] = new ByteReader(this.#bytes, at).text());
  }
}

/** Reads a count and skips that many length-prefixed pieces; returns the offset of each. */
function offsets(reader: ByteReader): Uint32Array {
  const count = reader.varint();
  if (count > reader.end) throw corrupt('a count does not fit');
  const at = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    at[i] = reader.pos;
    reader.skip(reader.varint());
  }
  return at;
}

function corrupt(reason: string): OperatorError {
  return new OperatorError('ERR_STORE_CORRUPT', `block: ${reason}`);
}

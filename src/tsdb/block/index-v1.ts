import { crc32c } from '../../base/crc32c.ts';
import { OperatorError } from '../../base/errors.ts';
import { ByteReader } from '../bytes.ts';
import type { PostingList } from '../postings.ts';
import type { BlockIndex, BlockSeries, ChunkPlace } from './format.ts';

/**
 * The index of blocks with the magic `SVCBLK1`: only floats, and everything is read when it is opened. Such blocks are
 * still read; none is written any more.
 */
export class BlockIndexV1 implements BlockIndex {
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
      chunks.push({ encoding: 1, minT, maxT, count, offset, length: reader.varint() });
      t = maxT;
      at = offset;
    }
    return { labels, chunks };
  }

  all(): PostingList {
    return Uint32Array.from({ length: this.seriesCount }, (_, i) => i);
  }

  names(): Iterable<string> {
    return this.#lists.keys();
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

import { appendTo } from '../../base/collections/counts.ts';
import { ByteWriter } from '../bytes.ts';
import { compareUtf8 } from '../labels.ts';
import type { Labels } from '../labels.ts';
import type { ChunkPlace } from './format.ts';

/**
 * Builds a block's index while its chunks are being written, series by series in label order.
 * Shape: symbols (count, texts); series (count; each: length in bytes, label pairs, offset of the first chunk, chunks);
 * postings (count of label names; each: symbol, length in bytes, table of the name's values in text order with the
 * length of each value's list, the lists of series as deltas).
 * Lengths come first, so that a reader can skip the parts that it does not need.
 */
export class IndexBuilder {
  readonly #symbols = new Map<string, number>();
  readonly #postings = new Map<number, Map<number, number[]>>();
  readonly #series = new ByteWriter(64 * 1024);
  readonly #record = new ByteWriter(512);
  #count = 0;

  /** Assumptions: the chunks follow each other in the file, each with its checksum. */
  add(labels: Labels, chunks: readonly ChunkPlace[]): void {
    const record = this.#record;
    record.varint(labels.length);
    for (const [name, value] of labels) {
      const n = this.#symbol(name);
      const v = this.#symbol(value);
      record.varint(n);
      record.varint(v);
      let values = this.#postings.get(n);
      if (!values) this.#postings.set(n, (values = new Map()));
      appendTo(values, v, this.#count);
    }
    record.varint(chunks.length);
    record.varint(chunks[0]?.offset ?? 0);
    let t = 0;
    for (const chunk of chunks) {
      record.zigzag(chunk.minT - t);
      record.varint(chunk.maxT - chunk.minT);
      record.varint(chunk.count * 4 + chunk.encoding);
      record.varint(chunk.length);
      t = chunk.maxT;
    }
    this.#series.varint(record.length);
    this.#series.bytes(record.view());
    record.clear();
    this.#count++;
  }

  finish(): Uint8Array {
    const out = new ByteWriter(this.#series.length * 2 + 4096);
    const texts = [...this.#symbols.keys()];
    out.varint(texts.length);
    for (const text of texts) out.text(text);
    out.varint(this.#count);
    out.bytes(this.#series.view());
    out.varint(this.#postings.size);
    const table = new ByteWriter(4096);
    const lists = new ByteWriter(4096);
    for (const [name, values] of this.#postings) {
      const sorted = [...values].sort((a, b) => compareUtf8(texts[a[0]]!, texts[b[0]]!));
      table.varint(sorted.length);
      for (const [value, ordinals] of sorted) {
        const before = lists.length;
        lists.varint(ordinals.length);
        let previous = 0;
        for (const ordinal of ordinals) {
          lists.varint(ordinal - previous);
          previous = ordinal;
        }
        table.varint(value);
        table.varint(lists.length - before);
      }
      out.varint(name);
      out.varint(table.length + lists.length);
      out.bytes(table.view());
      out.bytes(lists.view());
      table.clear();
      lists.clear();
    }
    return out.view();
  }

  #symbol(text: string): number {
    let id = this.#symbols.get(text);
    if (id === undefined) this.#symbols.set(text, (id = this.#symbols.size));
    return id;
  }
}

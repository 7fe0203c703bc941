import { WireWriter } from '../../base/protobuf-wire.ts';
import type { WireReader } from '../../base/protobuf-wire.ts';
import type { Labels } from '../types.ts';
import type { LabelPool, Pooled } from './label-pool.ts';
import { malformed } from './numbers.ts';

/** Names and values of labels, each sent once: rows name them by number. */
export class DictionaryWriter {
  readonly #numbers = new Map<string, number>();
  readonly #refs = new WireWriter(64);
  #fresh: string[] = [];
  /** The row before: series of one store share the objects of equal labels with their neighbours. */
  #last: Labels = [];
  readonly #lastRefs: number[] = [];

  /** The labels of a row as numbers, in one packed run; good until the next call. */
  refs(labels: Labels): Uint8Array {
    const out = this.#refs.reset();
    const last = this.#last;
    const refs = this.#lastRefs;
    for (let i = 0; i < labels.length; i++) {
      const label = labels[i]!;
      if (label !== last[i]) {
        refs[2 * i] = this.#number(label[0]);
        refs[2 * i + 1] = this.#number(label[1]);
      }
      out.rawVarint(refs[2 * i]!).rawVarint(refs[2 * i + 1]!);
    }
    this.#last = labels;
    return out.finish();
  }

  /** Texts that have not been sent yet, in order of their numbers. */
  takeFresh(): string[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    return fresh;
  }

  #number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
      this.#fresh.push(text);
    }
    return number;
  }
}

/** The other side: an agent's texts as numbers of the pool. */
export class DictionaryReader {
  readonly #pool: LabelPool;
  readonly #numbers: number[] = [];
  readonly #row: number[] = [];
  #last: Pooled | undefined;

  constructor(pool: LabelPool) {
    this.#pool = pool;
  }

  add(text: string): void {
    this.#numbers.push(this.#pool.number(text));
  }

  /**
   * Reads a length-delimited field of label numbers.
   * Errors: ERR_INPUT_INVALID for a number nobody sent, and for labels that are none.
   */
  labels(reader: WireReader): Labels {
    let at = reader.span();
    const end = reader.pos;
    const { bytes } = reader;
    const row = this.#row;
    let count = 0;
    while (at < end) {
      let ref = 0;
      for (let scale = 1; ; scale *= 128) {
        if (at === end || scale > 1e9) throw malformed('label numbers are cut off');
        const byte = bytes[at++]!;
        ref += (byte & 127) * scale;
        if (byte < 128) break;
      }
      const number = this.#numbers[ref];
      if (number === undefined) throw malformed('label that the dictionary does not have');
      row[count++] = number;
    }
    if (count % 2 !== 0) throw malformed('label numbers are cut off');
    this.#last = this.#pool.pooled(row, count, this.#last);
    return this.#last.labels;
  }
}

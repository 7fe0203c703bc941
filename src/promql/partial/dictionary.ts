import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Labels } from '../types.ts';
import type { LabelPool, Pooled } from './label-pool.ts';
import { malformed } from './numbers.ts';

/** Sends each name and value of labels once. The rows of an answer refer to them by number. */
export class DictionaryWriter {
  readonly #numbers = new Map<string, number>();
  #fresh: string[] = [];
  /** The number of characters in the texts that are not sent yet. */
  freshLength = 0;
  /** The previous row. Neighbouring series of a store share the objects of equal labels: these need no look-up. */
  #last: Labels = [];
  readonly #lastRefs: number[] = [];

  /** Writes the labels of a row as field `field`: numbers in one packed run. */
  write(out: WireWriter, field: number, labels: Labels): void {
    const last = this.#last;
    const refs = this.#lastRefs;
    for (let i = 0; i < labels.length; i++) {
      const label = labels[i]!;
      if (label !== last[i]) {
        refs[2 * i] = this.#number(label[0]);
        refs[2 * i + 1] = this.#number(label[1]);
      }
    }
    const run = out.open(field);
    out.rawVarints(refs, 2 * labels.length).close(run);
    this.#last = labels;
  }

  /** Texts that are not sent yet, in order of their numbers. */
  takeFresh(): string[] {
    const fresh = this.#fresh;
    this.#fresh = [];
    this.freshLength = 0;
    return fresh;
  }

  #number(text: string): number {
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#numbers.size;
      this.#numbers.set(text, number);
      this.#fresh.push(text);
      this.freshLength += text.length;
    }
    return number;
  }
}

/** Size of an answer's entry for a text, which the pool stores. Units: bytes. */
const entryBytes = 48;

/** The receiving side: turns rows of numbers into labels. */
export class DictionaryReader {
  readonly #pool: LabelPool;
  readonly #hold: (bytes: number) => void;
  /** The pool's number of each text. */
  readonly #numbers: number[] = [];
  readonly #known = new Set<number>();
  /** The row being read, and the previous row of a series, as the pool's numbers. */
  #row: number[] = [];
  #before: number[] = [];
  #labels: Labels = [];
  #last: Pooled | undefined;

  /** `hold` is called before memory is taken; throws to refuse. */
  constructor(pool: LabelPool, hold: (bytes: number) => void) {
    this.#pool = pool;
    this.#hold = hold;
  }

  /** Adds a text. Errors: ERR_INPUT_INVALID for an empty text, and for one that was added before. */
  add(text: string): void {
    if (text === '') throw malformed('empty text in the dictionary');
    this.#hold(entryBytes);
    const number = this.#pool.number(text);
    if (this.#known.has(number)) throw malformed('text that the dictionary has already');
    this.#known.add(number);
    this.#numbers.push(number);
  }

  /**
   * Reads the labels of a group: one object for each label set, whichever agent sends it.
   * Errors: ERR_INPUT_INVALID for an unknown number, and for invalid labels.
   */
  pooled(reader: WireReader): Labels {
    this.#last = this.#pool.pooled(this.#row, this.#read(reader), this.#last);
    return this.#last.labels;
  }

  /**
   * Reads the labels of a series, which is of one agent only. Labels equal to those at the same index of the previous
   * series are the same objects. Errors: as for `pooled`.
   */
  labels(reader: WireReader): Labels {
    const count = this.#read(reader);
    this.#labels = this.#pool.labelsOf(this.#row, count, this.#before, this.#labels);
    const row = this.#row;
    this.#row = this.#before;
    this.#before = row;
    return this.#labels;
  }

  /** Reads a length-delimited field of label numbers into the row. Returns how many there are. */
  #read(reader: WireReader): number {
    let at = reader.span();
    const end = reader.pos;
    const { bytes } = reader;
    const row = this.#row;
    const numbers = this.#numbers;
    let count = 0;
    while (at < end) {
      let ref = 0;
      for (let scale = 1; ; scale *= 128) {
        if (at === end || scale > 1e9) throw malformed('label numbers are cut off');
        const byte = bytes[at++]!;
        ref += (byte & 127) * scale;
        if (byte < 128) break;
      }
      const number = numbers[ref];
      if (number === undefined) throw malformed('label that the dictionary does not have');
      // The names of a row are different texts.
      if (count === 2 * numbers.length) throw malformed('more labels than texts');
      row[count++] = number;
    }
    if (count % 2 !== 0) throw malformed('label numbers are cut off');
    return count;
  }
}

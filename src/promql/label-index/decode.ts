import type { WireReader } from '../../base/wire/protobuf-wire.ts';
import { eachOf, listBytes, oneContent } from '../partial/messages.ts';
import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';
import { malformed } from './answer.ts';
import type { IndexHeader, IndexLists } from './answer.ts';
import { readHeader, readTrailer } from './index.pb.ts';
import type { IndexKind } from './request.ts';
import { PooledSeries, type SeriesPool } from './series-pool.ts';

/** Size of a listed text, and of one of the dictionary, without their characters. Units: bytes. */
const [textBytes, entryBytes] = [32, 96];

/** What the query server expects of an agent's answer about its labels or series. */
export interface ExpectedIndex {
  readonly kind: IndexKind;
  /** The most elements; 0 for no limit. */
  readonly limit: number;
  /** The pool that stores label sets. */
  readonly pool: SeriesPool;
  /** Checks the header before anything else is read; throws to refuse the rest. */
  readonly onHeader: (header: IndexHeader) => void;
  /** Checks the labels of each series; throws to refuse it. */
  readonly onSeries: (labels: Labels) => void;
  /** Called before memory is taken for a text, beside the bytes of its message; throws to refuse it. Units: bytes. */
  readonly hold?: (bytes: number) => void;
}

/**
 * Reads an agent's answer about its labels or series, message by message.
 * Guarantees: the result of `finish` is validated as a whole: order of the messages, sorted without repetition,
 * well-formed labels, the number of elements in the trailer. Without a trailer there is no answer.
 * Errors: ERR_INPUT_INVALID.
 */
export class IndexDecoder {
  readonly #expected: ExpectedIndex;
  readonly #dictionary: string[] = [];
  readonly #known = new Set<string>();
  readonly #texts: string[] = [];
  /** The places of the series in the pool. */
  readonly #series: number[] = [];
  #header: IndexHeader | undefined;
  #stated: number | undefined;

  constructor(expected: ExpectedIndex) {
    this.#expected = expected;
  }

  add(message: Uint8Array): void {
    if (this.#stated !== undefined) throw malformed('something follows the trailer');
    const { field, content } = oneContent(message, malformed);
    if (field === 1) this.#addHeader(content);
    else if (this.#header === undefined) throw malformed('the header does not come first');
    // A dictionary may be long: writers count only the bytes of the series that use it.
    else if (field === 2) eachOf(content, Infinity, malformed, () => this.#addEntry(content.string()));
    else if (field === 3) eachOf(content, listBytes, malformed, () => this.#addSeries(content.message()));
    else if (field === 4) eachOf(content, listBytes, malformed, () => this.#addText(content.string()));
    else if (field === 5) this.#stated = readTrailer(content).count ?? -1;
    // An unknown field comes from a later, compatible version and can be ignored: an incompatible one would have
    // another version number.
  }

  /** The whole answer. Errors: ERR_INPUT_INVALID for an incomplete one. */
  finish(): IndexLists & { readonly header: IndexHeader } {
    if (this.#header === undefined) throw malformed('no header');
    if (this.#stated === undefined) throw malformed('no trailer: the answer was cut');
    const [texts, series] = [this.#texts, new PooledSeries(this.#expected.pool, this.#series)];
    const count = texts.length + series.length;
    if (count !== this.#stated) throw malformed(`${count} elements, the trailer states ${this.#stated}`);
    return { header: this.#header, texts, series };
  }

  #addHeader(reader: WireReader): void {
    if (this.#header !== undefined) throw malformed('two headers');
    const found = readHeader(reader);
    const { kind, onHeader } = this.#expected;
    if (found.kind !== kind) throw malformed(`${JSON.stringify(found.kind)}, asked for ${kind}`);
    this.#header = { ...found, kind };
    onHeader(this.#header);
  }

  #addEntry(text: string): void {
    if (text === '') throw malformed('empty text in the dictionary');
    if (this.#known.has(text)) throw malformed('text that the dictionary has already');
    this.#expected.hold?.(entryBytes);
    this.#known.add(text);
    this.#dictionary.push(text);
  }

  #addText(text: string): void {
    if (this.#expected.kind === 'series') throw malformed('text among series');
    const before = this.#texts.at(-1) ?? '';
    if (compareStrings(before, text) >= 0) throw malformed('texts are not in order');
    this.#expected.hold?.(textBytes);
    this.#texts.push(text);
    this.#count(this.#texts.length);
  }

  #addSeries(reader: WireReader): void {
    const { kind, pool, onSeries } = this.#expected;
    if (kind !== 'series') throw malformed(`series among ${kind}`);
    const labels: Label[] = [];
    const pairs: number[] = [];
    while (!reader.done) {
      const name = this.#dictionary[reader.uint()];
      const value = reader.done ? undefined : this.#dictionary[reader.uint()];
      if (!name || !value) throw malformed('label without a name or a value in the dictionary');
      const before = labels.at(-1);
      if (before !== undefined && compareStrings(before[0], name) >= 0) throw malformed('labels are not in order');
      const pair = pool.pair(name, value);
      labels.push(pool.label(pair));
      pairs.push(pair);
    }
    const before = this.#series.at(-1);
    const place = pool.add(pairs);
    if (before !== undefined && pool.compare(before, place) >= 0) throw malformed('series are not in order');
    onSeries(labels);
    this.#series.push(place);
    this.#count(this.#series.length);
  }

  #count(count: number): void {
    const { limit } = this.#expected;
    if (limit > 0 && count > limit) throw malformed(`more than ${limit} elements`);
  }
}

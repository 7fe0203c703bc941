import { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { type Cursor, decodeLimits } from '../decode-limits.ts';
import { type Attribute, noAttributes } from '../model.ts';
import { lengthDelimited } from './fields.ts';
import { readKeyValue } from './generated/attributes.ts';

/**
 * Collects the attribute fields of one message while its other fields are read, and decodes them at the end. When the
 * attribute fields are adjacent, as in the messages of every sender, the whole run is looked up in the cursor's cache
 * first.
 * The attributes of points beyond the limits make the request malformed, as without them points of different streams
 * would be mixed up. Those of a Resource or a span are skipped and counted: a pod may give itself any attributes, and
 * the request has those of other pods, too.
 */
export class AttributeList {
  readonly #field: string;
  readonly #excess: 'refused' | 'skipped';
  #taken = 0;
  #skipped = 0;
  #start = -1;
  #end = -1;
  /** Runs of attribute fields before the last run; null unless other fields came between. */
  #earlier: [start: number, end: number][] | null = null;

  constructor(field: string, excess: 'refused' | 'skipped') {
    this.#field = field;
    this.#excess = excess;
  }

  /** Steps over one attribute field whose key began at `at`; the reader is right after the key. */
  take(at: number, message: WireReader, cursor: Cursor): void {
    message.skip(lengthDelimited);
    if (++this.#taken > decodeLimits.attributes) {
      return this.#exceeds(cursor, `more than ${decodeLimits.attributes} attributes`);
    }
    if (this.#start < 0) this.#start = at;
    else if (at !== this.#end) {
      (this.#earlier ??= []).push([this.#start, this.#end]);
      this.#start = at;
    }
    this.#end = message.pos;
  }

  finish(cursor: Cursor, bytes: Uint8Array): readonly Attribute[] {
    if (this.#start < 0) return noAttributes;
    const cache = this.#earlier === null ? cursor.cache : null;
    const known = cache?.find(bytes, this.#start, this.#end);
    if (known) return known;
    const attributes: Attribute[] = [];
    for (const [start, end] of this.#earlier ?? []) this.#decode(cursor, bytes, start, end, attributes);
    this.#decode(cursor, bytes, this.#start, this.#end, attributes);
    // A list is decoded each time while some of it is skipped, so that those are counted.
    if (this.#skipped === 0) cache?.add(bytes, this.#start, this.#end, attributes);
    return attributes;
  }

  #decode(cursor: Cursor, bytes: Uint8Array, start: number, end: number, into: Attribute[]): void {
    const reader = new WireReader(bytes, start, end);
    while (!reader.done) {
      reader.key();
      cursor.field = this.#field;
      cursor.countValues(1);
      const attribute = readKeyValue(cursor, reader.message(), this.#field, 0);
      if (attribute.key.length <= decodeLimits.nameBytes) into.push(attribute);
      else this.#exceeds(cursor, `a key is longer than ${decodeLimits.nameBytes} characters`);
    }
  }

  #exceeds(cursor: Cursor, reason: string): void {
    cursor.field = this.#field;
    if (this.#excess === 'refused') throw cursor.error(reason);
    this.#skipped++;
    cursor.skipped++;
  }
}

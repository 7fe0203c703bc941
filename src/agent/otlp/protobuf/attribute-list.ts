import { WireReader } from '../../../base/wire/protobuf-wire.ts';
import type { Cursor } from '../decode-limits.ts';
import { type Attribute, noAttributes } from '../model.ts';
import { element, lengthDelimited } from './fields.ts';
import { readKeyValue } from './generated/attributes.ts';

/**
 * Collects the attribute fields of one message while its other fields are read, and decodes them at the end. When the
 * attribute fields are adjacent, as in the messages of every sender, the whole run is looked up in the cursor's cache
 * first.
 */
export class AttributeList {
  readonly #field: string;
  #start = -1;
  #end = -1;
  /** Runs of attribute fields before the last run; null unless other fields came between. */
  #earlier: [start: number, end: number][] | null = null;

  constructor(field: string) {
    this.#field = field;
  }

  /** Steps over one attribute field whose key began at `at`; the reader is right after the key. */
  take(at: number, message: WireReader): void {
    message.skip(lengthDelimited);
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
    cache?.add(bytes, this.#start, this.#end, attributes);
    return attributes;
  }

  #decode(cursor: Cursor, bytes: Uint8Array, start: number, end: number, into: Attribute[]): void {
    const reader = new WireReader(bytes, start, end);
    while (!reader.done) {
      reader.key();
      cursor.field = this.#field;
      into.push(readKeyValue(cursor, element(cursor, reader, into.length, 'attributes'), this.#field, 0));
    }
  }
}

import type { WireReader } from '../../../base/wire/protobuf-wire.ts';
import type { Cursor } from '../decode-limits.ts';
import type { Attribute } from '../model.ts';
import { AttributeList } from './attribute-list.ts';
import { expectWire, wire } from './fields.ts';

/** The attributes of a Resource message. */
export function readResource(cursor: Cursor, message: WireReader): readonly Attribute[] {
  const attributes = new AttributeList('resource.attributes');
  while (!message.done) {
    const at = message.pos;
    const tag = message.key();
    if (tag >>> 3 !== 1) {
      message.skip(tag & 7);
      continue;
    }
    expectWire(cursor, 'resource.attributes', tag & 7, wire.bytes);
    attributes.take(at, message);
  }
  return attributes.finish(cursor, message.bytes);
}

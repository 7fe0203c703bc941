import type { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { type Cursor, decodeLimits } from '../decode-limits.ts';
import { type AnyValue, type Attribute, type Scope } from '../model.ts';
import { expectWire, nameField, wire } from './fields.ts';

/** Reads one KeyValue into `into`; `depth` counts the map and array values around it. */
export function readAttribute(cursor: Cursor, field: string, reader: WireReader, into: Attribute[], depth = 0): void {
  cursor.field = field;
  if (into.length >= decodeLimits.attributes) throw cursor.error(`more than ${decodeLimits.attributes} attributes`);
  const message = reader.message();
  let key = '';
  let value: AnyValue = null;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, `${field}.key`, wireType, wire.bytes);
        key = nameField(cursor, `${field}.key`, message);
        break;
      case 2:
        expectWire(cursor, `${field}.value`, wireType, wire.bytes);
        value = readAnyValue(cursor, `${field}.value`, message.message(), depth);
        break;
      default:
        message.skip(wireType);
    }
  }
  into.push({ key, value });
}

function readAnyValue(cursor: Cursor, field: string, message: WireReader, depth: number): AnyValue {
  cursor.field = field;
  if (depth > decodeLimits.valueDepth) throw cursor.error(`nested deeper than ${decodeLimits.valueDepth}`);
  let value: AnyValue = null;
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, field, wireType, wire.bytes);
        value = message.string();
        break;
      case 2:
        expectWire(cursor, field, wireType, wire.varint);
        value = message.bool();
        break;
      case 3: {
        expectWire(cursor, field, wireType, wire.varint);
        value = readInt(message);
        break;
      }
      case 4:
        expectWire(cursor, field, wireType, wire.fixed64);
        value = message.double();
        break;
      case 5:
        expectWire(cursor, field, wireType, wire.bytes);
        value = readArray(cursor, field, message.message(), depth + 1);
        break;
      case 6:
        expectWire(cursor, field, wireType, wire.bytes);
        value = { entries: readEntries(cursor, field, message.message(), depth + 1) };
        break;
      case 7:
        expectWire(cursor, field, wireType, wire.bytes);
        value = message.view().slice();
        break;
      default:
        message.skip(wireType);
    }
  }
  return value;
}

/** An int64; small ones, which ports and status codes are, never touch bigint. */
function readInt(message: WireReader): number | bigint {
  const start = message.pos;
  const quick = message.uint();
  if (quick <= Number.MAX_SAFE_INTEGER) return quick;
  message.pos = start;
  const exact = BigInt.asIntN(64, message.uint64());
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : exact;
}

function readArray(cursor: Cursor, field: string, message: WireReader, depth: number): AnyValue[] {
  const values: AnyValue[] = [];
  while (!message.done) {
    const tag = message.key();
    if (tag >>> 3 !== 1) {
      message.skip(tag & 7);
      continue;
    }
    expectWire(cursor, field, tag & 7, wire.bytes);
    if (values.length >= decodeLimits.attributes) throw cursor.error(`more than ${decodeLimits.attributes} values`);
    values.push(readAnyValue(cursor, field, message.message(), depth));
  }
  return values;
}

function readEntries(cursor: Cursor, field: string, message: WireReader, depth: number): Attribute[] {
  const entries: Attribute[] = [];
  while (!message.done) {
    const tag = message.key();
    if (tag >>> 3 !== 1) {
      message.skip(tag & 7);
      continue;
    }
    expectWire(cursor, field, tag & 7, wire.bytes);
    readAttribute(cursor, field, message, entries, depth);
  }
  return entries;
}

/** Name and version of an InstrumentationScope message. */
export function readScope(cursor: Cursor, message: WireReader): Scope {
  let name = '';
  let version = '';
  while (!message.done) {
    const tag = message.key();
    const wireType = tag & 7;
    switch (tag >>> 3) {
      case 1:
        expectWire(cursor, 'scope.name', wireType, wire.bytes);
        name = nameField(cursor, 'scope.name', message);
        break;
      case 2:
        expectWire(cursor, 'scope.version', wireType, wire.bytes);
        version = nameField(cursor, 'scope.version', message);
        break;
      default:
        message.skip(wireType);
    }
  }
  return { name, version };
}

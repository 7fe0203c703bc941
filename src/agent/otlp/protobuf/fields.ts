import type { WireReader } from '../../../base/wire/protobuf-wire.ts';
import { type Cursor, decodeLimits } from '../decode-limits.ts';

/** The wire type of strings, bytes, messages and packed lists. */
export const lengthDelimited = 2;

/** Refuses a field whose wire type is not the schema's. */
export function expectWire(cursor: Cursor, field: string, actual: number, wanted: number): void {
  cursor.field = field;
  if (actual !== wanted) throw cursor.error(`wire type ${actual}, expected ${wanted}`);
}

/** A fixed64 as a double, without the detour over bigint. Rounds to the nearest double, as JSON numbers do. */
export function fixed64Number(reader: WireReader): number {
  const low = reader.fixed32();
  return reader.fixed32() * 4_294_967_296 + low;
}

/**
 * Steps over a packed list of eight-byte numbers, the form that every sender writes, and returns its length. The list
 * ends at the reader's position. When the field is not such a list, reads nothing and returns −1.
 */
export function packedLength(cursor: Cursor, field: string, wireType: number, reader: WireReader): number {
  if (wireType !== lengthDelimited) return -1;
  cursor.field = field;
  const before = reader.pos;
  const start = reader.span();
  const bytes = reader.pos - start;
  if (bytes % 8 !== 0) {
    reader.pos = before;
    return -1;
  }
  if (bytes > 8 * decodeLimits.buckets) throw cursor.error(`more than ${decodeLimits.buckets} values`);
  return bytes / 8;
}

/** A sfixed64 as a double. */
export function sfixed64Number(reader: WireReader): number {
  const low = reader.fixed32();
  return (reader.fixed32() | 0) * 4_294_967_296 + low;
}

/** An int64. Small values, such as ports and status codes, never touch bigint. */
export function int64(reader: WireReader): number | bigint {
  const start = reader.pos;
  const quick = reader.uint();
  if (quick <= Number.MAX_SAFE_INTEGER) return quick;
  reader.pos = start;
  const exact = BigInt.asIntN(64, reader.uint64());
  const number = Number(exact);
  return Number.isSafeInteger(number) ? number : exact;
}

/** A sint32 (zigzag varint). */
export function sint32(reader: WireReader): number {
  const n = reader.uint() >>> 0;
  return (n >>> 1) ^ -(n & 1);
}

/** Appends a repeated scalar field, packed or not. It may have as many values as a histogram may have buckets. */
export function repeatedScalar(
  cursor: Cursor,
  field: string,
  wireType: number,
  scalarWire: number,
  reader: WireReader,
  read: (reader: WireReader) => number,
  into: number[],
): void {
  cursor.field = field;
  if (wireType === lengthDelimited) {
    const packed = reader.message();
    const before = into.length;
    while (!packed.done) {
      if (into.length >= decodeLimits.buckets) throw cursor.error(`more than ${decodeLimits.buckets} values`);
      into.push(read(packed));
    }
    cursor.countNumbers(into.length - before);
    return;
  }
  if (wireType !== scalarWire)
    throw cursor.error(`wire type ${wireType}, expected ${lengthDelimited} or ${scalarWire}`);
  if (into.length >= decodeLimits.buckets) throw cursor.error(`more than ${decodeLimits.buckets} values`);
  into.push(read(reader));
}

/** The next message of a list that already has `length` elements and may have `most`; `what` names the elements. */
export function element(
  cursor: Cursor,
  reader: WireReader,
  length: number,
  what: string,
  most: number = decodeLimits.attributes,
): WireReader {
  if (length >= most) throw cursor.error(`more than ${most} ${what}`);
  cursor.countValues(1);
  return reader.message();
}

/** A copy of a bytes field. An empty one, too, takes as much memory as three small values. */
export function bytesField(cursor: Cursor, reader: WireReader): Uint8Array {
  cursor.countValues(3);
  return new Uint8Array(reader.view());
}

/** Lower-case hex of an id field; `bytes` is its full length, and an empty id is allowed where `optional`. */
export function idField(cursor: Cursor, field: string, reader: WireReader, bytes: number, optional: boolean): string {
  cursor.field = field;
  const id = reader.view();
  if (id.length === 0 && optional) return '';
  if (id.length !== bytes) throw cursor.error(`${id.length} bytes, expected ${bytes}`);
  return Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex');
}

/** A string field, capped at the length of a name. */
export function nameField(cursor: Cursor, field: string, reader: WireReader): string {
  cursor.field = field;
  const text = reader.string();
  if (text.length > decodeLimits.nameBytes) throw cursor.error(`longer than ${decodeLimits.nameBytes} characters`);
  return text;
}

import { decimalSource } from '../../../base/text/decimal.ts';
import { type Cursor, decodeLimits } from '../decode-limits.ts';

/**
 * Readers of single JSON values by the proto3 JSON mapping with OTLP's exceptions: ids are hex, enums are numbers. Also
 * accepted: enum names, and ids in base64, which plain protobuf tools write (distinguished by length). Each reader
 * refuses a wrong type with an error that names the field. An absent or null member has its default.
 * Source: the OTLP specification, "JSON Protobuf Encoding"; the protobuf guide, "ProtoJSON format".
 */

/** A JSON object as it was parsed. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function jsonObject(cursor: Cursor, field: string, value: unknown): JsonObject {
  cursor.field = field;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw cursor.error('must be an object');
  return value as JsonObject;
}

export function jsonArray(cursor: Cursor, field: string, value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  cursor.field = field;
  if (!Array.isArray(value)) throw cursor.error('must be an array');
  return value;
}

/** A string, with lone surrogates replaced so that it always has a UTF-8 form. */
export function jsonString(cursor: Cursor, field: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  cursor.field = field;
  if (typeof value !== 'string') throw cursor.error('must be a string');
  return value.toWellFormed();
}

export function jsonName(cursor: Cursor, field: string, value: unknown): string {
  const text = jsonString(cursor, field, value);
  if (text.length > decodeLimits.nameBytes) throw cursor.error(`longer than ${decodeLimits.nameBytes} characters`);
  return text;
}

export function jsonBool(cursor: Cursor, field: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  cursor.field = field;
  if (typeof value !== 'boolean') throw cursor.error('must be true or false');
  return value;
}

const double = new RegExp(`^(?:-?${decimalSource}|-?Infinity|NaN)$`);

/** A double: a number, a decimal string, or one of `NaN`, `Infinity`, `-Infinity`. */
export function jsonDouble(cursor: Cursor, field: string, value: unknown): number {
  if (value === undefined || value === null) return 0;
  if (typeof value === 'number') return value;
  cursor.field = field;
  if (typeof value === 'string' && double.test(value)) {
    return Number(value);
  }
  throw cursor.error('must be a number');
}

export function jsonOptionalDouble(cursor: Cursor, field: string, value: unknown): number | null {
  return value === undefined || value === null ? null : jsonDouble(cursor, field, value);
}

/** A 64-bit integer, as a number or a decimal string, kept exact. */
export function jsonInt64(cursor: Cursor, field: string, value: unknown, signed: boolean): bigint {
  if (value === undefined || value === null) return 0n;
  cursor.field = field;
  let exact: bigint;
  if (typeof value === 'number' && Number.isInteger(value)) exact = BigInt(value);
  else if (typeof value === 'string' && /^-?\d{1,20}$/.test(value)) exact = BigInt(value);
  else throw cursor.error('must be an integer, as a number or a string of digits');
  const inRange = signed ? BigInt.asIntN(64, exact) === exact : BigInt.asUintN(64, exact) === exact;
  if (!inRange) throw cursor.error('is out of the range of 64 bits');
  return exact;
}

/** An unsigned 64-bit integer as the nearest double: counts and times of points. */
export function jsonUint(cursor: Cursor, field: string, value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  return Number(jsonInt64(cursor, field, value, false));
}

/** A 32-bit integer. */
export function jsonInt32(cursor: Cursor, field: string, value: unknown): number {
  const exact = Number(jsonInt64(cursor, field, value, true));
  if (exact !== (exact | 0)) throw cursor.error('is out of the range of 32 bits');
  return exact;
}

/**
 * An enum by number or by name; `prefix` is the beginning of the names in JSON, which `names` omits. An unknown value
 * becomes the first.
 */
export function jsonEnum<T extends string>(
  cursor: Cursor,
  field: string,
  value: unknown,
  prefix: string,
  names: readonly T[],
): T {
  const fallback = names[0]!;
  if (value === undefined || value === null) return fallback;
  cursor.field = field;
  if (typeof value === 'number' && Number.isInteger(value)) return names[value] ?? fallback;
  if (typeof value !== 'string' || !value.startsWith(prefix)) throw cursor.error(`must be a number or ${prefix}…`);
  const name = value.slice(prefix.length).toLowerCase();
  return names.find((n) => n === name) ?? fallback;
}

/** An id of `bytes` bytes as lower-case hex. */
export function jsonId(cursor: Cursor, field: string, value: unknown, bytes: number, optional: boolean): string {
  cursor.field = field;
  const text = value === undefined || value === null ? '' : value;
  if (typeof text !== 'string') throw cursor.error('must be a string');
  if (text === '' && optional) return '';
  if (text.length === bytes * 2 && /^[0-9a-fA-F]+$/.test(text)) return text.toLowerCase();
  if (text.length === Math.ceil(bytes / 3) * 4 && /^[A-Za-z0-9+/]+=*$/.test(text)) {
    const decoded = Buffer.from(text, 'base64');
    if (decoded.length === bytes) return decoded.toString('hex');
  }
  throw cursor.error(`must be ${bytes * 2} hex digits`);
}

/** A repeated field, each element read by `read`. It may have as many elements as a histogram may have buckets. */
export function jsonScalars(
  cursor: Cursor,
  field: string,
  value: unknown,
  read: (cursor: Cursor, field: string, value: unknown) => number,
): number[] {
  const values = jsonArray(cursor, field, value);
  if (values.length > decodeLimits.buckets) throw cursor.error(`more than ${decodeLimits.buckets} values`);
  return values.map((v) => read(cursor, field, v));
}

import { type Cursor, decodeLimits } from '../decode-limits.ts';
import { type AnyValue, type Attribute, emptyScope, noAttributes, type Scope } from '../model.ts';
import { jsonArray, jsonBool, jsonDouble, jsonInt64, jsonName, jsonObject, jsonString } from './values.ts';

/** The attributes of a point: none may be beyond the limits. */
export function jsonAttributes(cursor: Cursor, field: string, value: unknown): Attribute[] {
  const list = jsonPairs(cursor, field, value, 0);
  for (const { key } of list) jsonName(cursor, `${field}.key`, key);
  return list;
}

/** The attributes of a Resource or a span: those beyond the limits are skipped and counted. */
export function jsonAttributesWithin(cursor: Cursor, field: string, value: unknown): Attribute[] {
  const list = jsonArray(cursor, field, value);
  const read = jsonPairs(cursor, field, list.slice(0, decodeLimits.attributes), 0);
  const kept = read.filter(({ key }) => key.length <= decodeLimits.nameBytes);
  cursor.skipped += list.length - kept.length;
  return kept;
}

function jsonPairs(cursor: Cursor, field: string, value: unknown, depth: number): Attribute[] {
  const list = jsonArray(cursor, field, value);
  if (list.length > decodeLimits.attributes) throw cursor.error(`more than ${decodeLimits.attributes} attributes`);
  return list.map((entry) => {
    const pair = jsonObject(cursor, field, entry);
    return {
      key: jsonString(cursor, `${field}.key`, pair.key),
      value: jsonAnyValue(cursor, `${field}.value`, pair.value, depth),
    };
  });
}

function jsonAnyValue(cursor: Cursor, field: string, value: unknown, depth: number): AnyValue {
  if (value === undefined || value === null) return null;
  const any = jsonObject(cursor, field, value);
  if (depth > decodeLimits.valueDepth) throw cursor.error(`nested deeper than ${decodeLimits.valueDepth}`);
  if (any.stringValue !== undefined) return jsonString(cursor, field, any.stringValue);
  if (any.boolValue !== undefined) return jsonBool(cursor, field, any.boolValue);
  if (any.intValue !== undefined) {
    const exact = jsonInt64(cursor, field, any.intValue, true);
    return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
  }
  if (any.doubleValue !== undefined) return jsonDouble(cursor, field, any.doubleValue);
  if (any.bytesValue !== undefined) {
    return new Uint8Array(Buffer.from(jsonString(cursor, field, any.bytesValue), 'base64'));
  }
  if (any.arrayValue !== undefined) {
    const values = jsonArray(cursor, field, jsonObject(cursor, field, any.arrayValue).values);
    if (values.length > decodeLimits.attributes) throw cursor.error(`more than ${decodeLimits.attributes} values`);
    return values.map((v) => jsonAnyValue(cursor, field, v, depth + 1));
  }
  if (any.kvlistValue !== undefined) {
    const list = jsonObject(cursor, field, any.kvlistValue);
    return { entries: jsonPairs(cursor, field, list.values, depth + 1) };
  }
  return null;
}

export function jsonResource(cursor: Cursor, value: unknown): readonly Attribute[] {
  if (value === undefined || value === null) return noAttributes;
  return jsonAttributesWithin(cursor, 'resource.attributes', jsonObject(cursor, 'resource', value).attributes);
}

export function jsonScope(cursor: Cursor, value: unknown): Scope {
  if (value === undefined || value === null) return emptyScope;
  const scope = jsonObject(cursor, 'scope', value);
  return {
    name: jsonName(cursor, 'scope.name', scope.name),
    version: jsonName(cursor, 'scope.version', scope.version),
  };
}

import { jsonSize } from '../../../base/text/json-size.ts';
import { type Cursor, decodeLimits } from '../decode-limits.ts';
import { type JsonObject, jsonArray, jsonObject } from './values.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a JSON body, which is one object. Errors: ERR_INPUT_INVALID; the message never repeats the body. */
export function parseJsonBody(cursor: Cursor, bytes: Uint8Array): JsonObject {
  if (jsonSize(bytes).values > decodeLimits.values) throw cursor.error(`more than ${decodeLimits.values} values`);
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (cause) {
    throw cursor.error('body is not JSON in UTF-8', cause);
  }
  return jsonObject(cursor, '', value);
}

/** Like `jsonMessages`, for the exemplars or quantiles of one point. */
export function jsonParts<T>(cursor: Cursor, field: string, value: unknown, read: (message: JsonObject) => T): T[] {
  const list = jsonArray(cursor, field, value);
  if (list.length > decodeLimits.perPoint) throw cursor.error(`more than ${decodeLimits.perPoint} ${field}`);
  return jsonMessages(cursor, field, list, () => {}, read);
}

/** Reads each object of a repeated message field, and calls `count` before each. Errors name the object's index. */
export function jsonMessages<T>(
  cursor: Cursor,
  field: string,
  value: unknown,
  count: () => void,
  read: (message: JsonObject) => T,
): T[] {
  return jsonArray(cursor, field, value).map((entry, index) => {
    count();
    cursor.enter(field, index);
    const made = read(jsonObject(cursor, '', entry));
    cursor.leave();
    return made;
  });
}

import { truncate } from '../mapping/label-set.ts';

/** Longer names, messages and texts are cut. Units: characters. */
export const maxTextLength = 4_096;
/**
 * Most text of an item's attributes together. With every character escaped, in six characters of JSON, and with the
 * item's other fields, a line of the stream stays below the longest one that readers accept. Units: characters.
 */
const maxAttributesLength = 65_536;
/** What a number or a boolean takes of that. Units: characters. */
const scalarLength = 24;
/** What brackets, quotes and commas of a value take of that. Units: characters. */
const markLength = 4;

/**
 * The attributes as far as they fit into one item: texts are cut, also those within lists and maps; what comes after
 * the last one that fits is left out. `attributes` are plain JSON data.
 */
export function fittingAttributes<T>(attributes: Iterable<readonly [string, T]>): Record<string, T> {
  let left = maxAttributesLength;
  const members = (entries: Iterable<readonly [string, unknown]>): Record<string, unknown> => {
    const fitting: [string, unknown][] = [];
    for (const [key, value] of entries) {
      left -= key.length + markLength;
      if (left <= 0) break;
      fitting.push([key, cut(value)]);
    }
    // Unlike an assignment, this makes a member of the key `__proto__`, too.
    return Object.fromEntries(fitting);
  };
  const cut = (value: unknown): unknown => {
    left -= markLength;
    if (typeof value === 'string') {
      const text = truncate(value, Math.max(0, Math.min(maxTextLength, left)));
      left -= text.length;
      return text;
    }
    if (Array.isArray(value)) {
      const fitting: unknown[] = [];
      for (const element of value as unknown[]) {
        if (left <= 0) break;
        fitting.push(cut(element));
      }
      return fitting;
    }
    if (typeof value === 'object' && value !== null) return members(Object.entries(value));
    left -= scalarLength;
    return value;
  };
  return members(attributes) as Record<string, T>;
}

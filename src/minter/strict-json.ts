import { OperatorError } from '../base/errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const maxDepth = 32;

/**
 * Strict parser of exactly one JSON text, for untrusted input: malformed UTF-8, a byte-order mark, bytes after the
 * value, a repeated member name in an object, and nesting beyond 32 are refused. (Most parsers take the last of two
 * equal names, others the first, so two readers of one document could see different things.)
 * Errors: ERR_INPUT_INVALID; the message never repeats the text.
 */
export function parseStrictJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw refuse('not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse('not valid JSON');
  }
  refuseRepeatedNames(text);
  return value;
}

/**
 * A JSON object as a Map of its own members, so that `__proto__` or `constructor` is a name like any other.
 * Errors: ERR_INPUT_INVALID when the value is not an object.
 */
export function members(value: unknown): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse('not a JSON object');
  return new Map(Object.entries(value));
}

/** Checks the member names of all objects in `text`, which must be valid JSON. */
function refuseRepeatedNames(text: string): void {
  const open: (Set<string> | null)[] = [];
  let expectName = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      const end = endOfString(text, i);
      const names = open.at(-1);
      if (expectName && names) {
        const name = JSON.parse(text.slice(i, end + 1)) as string;
        if (names.has(name)) throw refuse('a member name is repeated');
        names.add(name);
        expectName = false;
      }
      i = end;
    } else if (c === '{' || c === '[') {
      open.push(c === '{' ? new Set() : null);
      expectName = c === '{';
      if (open.length > maxDepth) throw refuse(`nested deeper than ${maxDepth}`);
    } else if (c === '}' || c === ']') {
      open.pop();
      expectName = false;
    } else if (c === ',') {
      expectName = open.at(-1) !== null;
    }
  }
}

function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i;
}

function refuse(reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', reason);
}

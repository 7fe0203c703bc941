import { OperatorError } from '../errors.ts';
import { jsonSize, maxJsonDepth } from './json-size.ts';

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** A shorter text takes 3 MB at most to parse, however deep its values are. Units: characters, or bytes. */
const measuredLength = 64 * 1024;

/**
 * The value of a JSON text from outside. A long text is measured before it is parsed. What counts towards `maxValues`
 * is in `JsonSize`.
 * Errors: ERR_INPUT_INVALID with a message that begins with `what`, the name of the text.
 */
export function parseJson(text: string | Uint8Array, what: string, maxValues = Infinity): unknown {
  if (text.length > measuredLength) {
    const { depth, values } = jsonSize(typeof text === 'string' ? new TextEncoder().encode(text) : text);
    if (depth > maxJsonDepth) throw refuse(`${what} is nested deeper than ${maxJsonDepth}`);
    if (values > maxValues) throw refuse(`${what} has more than ${maxValues} values`);
  }
  try {
    return JSON.parse(typeof text === 'string' ? text : utf8.decode(text));
  } catch (cause) {
    throw refuse(`${what} is not JSON`, cause);
  }
}

function refuse(message: string, cause?: unknown): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', message, { cause });
}

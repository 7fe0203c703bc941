import { StatusError } from './status-error.ts';

/** Characters that the YAML parser of a real server refuses where they are not escaped. */
const refused = /[\u007f-\u0084\u0086-\u009f\ufffe\uffff]/;
/** One escape of a string; the first group is that of half a surrogate pair, as `JSON.stringify` writes it. */
const escapes = /\\(?:(ud[89a-f][\da-f]{2})|.)/g;
/** A character that is a line break to that parser, with the spaces around it, which are not part of the text. */
const lineBreak = /[ \t]*([\u0085\u2028\u2029])[ \t]*/g;

/**
 * The object of an apply, which a real server reads as YAML: of the texts that are JSON, it refuses some, and reads
 * others as something else.
 * Errors: StatusError 400.
 */
export function readApplied(body: string): unknown {
  if (refused.test(body)) throw undecodable('yaml: control characters are not allowed');
  if (body.matchAll(escapes).some(([, half]) => half !== undefined)) {
    throw undecodable('yaml: line 1: found invalid Unicode character escape code');
  }
  return JSON.parse(body.replaceAll(lineBreak, (_, found) => (found === '\u0085' ? ' ' : found)));
}

const undecodable = (why: string): StatusError => new StatusError(400, 'BadRequest', `error decoding YAML: ${why}`);

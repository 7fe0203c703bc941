import { OperatorError } from '../errors.ts';

/** The value of a JSON text from outside. Errors: ERR_INPUT_INVALID with `refusal` as its message. */
export function parseJson(text: string, refusal: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', refusal, { cause });
  }
}

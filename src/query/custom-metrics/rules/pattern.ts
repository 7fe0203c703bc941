import { OperatorError } from '../../../base/errors.ts';

/** A pattern of a rule. Not anchored, as in the adapter. Errors: ERR_INPUT_INVALID that names the field. */
export function re2(pattern: string, at: string): RegExp {
  try {
    return new RegExp(pattern.replaceAll('(?P<', '(?<'), 'u');
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', `${at}: not a pattern`, { cause });
  }
}

import { errorText, OperatorError } from '../../base/errors.ts';
import { parseQuantity } from '../../base/quantity.ts';

/**
 * The number of bytes in a number or a Kubernetes quantity without fraction, such as `2Gi`. Errors: ERR_INPUT_INVALID.
 */
export function parseBytes(value: number | string): number {
  if (!/^[0-9]+(Ki|Mi|Gi|Ti|k|M|G|T)?$/.test(String(value)))
    throw new OperatorError('ERR_INPUT_INVALID', `${JSON.stringify(value)} is not a size such as 2Gi`);
  return parseQuantity(value)!;
}

/** The fault of the first invalid size that is set, as a sentence that begins with its field; or null. */
export function sizeFault(values: Readonly<Record<string, number | string | undefined>>): string | null {
  for (const [field, value] of Object.entries(values)) {
    try {
      if (value !== undefined) parseBytes(value);
    } catch (error) {
      return `${field}: ${errorText(error)}`;
    }
  }
  return null;
}

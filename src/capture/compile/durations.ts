import { parseDuration } from '../../base/duration.ts';
import { errorText } from '../../base/errors.ts';

/** The upper limit of intervals: one day. No periodic task on a node has a longer period. Units: ms. */
export const longestInterval = 86_400_000;
/** Ten years, the upper limit of retention. Units: ms. */
export const longestRetention = 3650 * 86_400_000;

/** The fault of the first invalid duration that is set, as a sentence that begins with its field; or null. */
export function durationFault(values: Readonly<Record<string, string | undefined>>, max: number): string | null {
  for (const [field, text] of Object.entries(values)) {
    if (text === undefined) continue;
    try {
      if (parseDuration(text, field) > max) return `${field}: ${text} is longer than ${max / 3_600_000}h`;
    } catch (error) {
      return errorText(error);
    }
  }
  return null;
}

import type { LoadedSample } from './memory-source.ts';
import type { Random } from './random.ts';

/**
 * Finds how much the last digits of the samples change an answer. Engines round differently, as in powers and in the
 * order of a sum, and some expressions magnify the difference without bound: the cosine of a number of a hundred digits
 * may have any value. The same expression over samples that differ in their last digits shows how much.
 */

/** The largest relative change of a sample: sixteen units of the last place of a double. */
const change = 2 ** -48;

/** The samples, with each float changed in its last digits. */
export function withOtherLastDigits(samples: readonly LoadedSample[], random: Random): LoadedSample[] {
  return samples.map((sample) => ({ ...sample, value: sample.value * (1 + change * (2 * random.next() - 1)) }));
}

const steps =
  /[%<>]|[=!]=|\b(?:floor|ceil|round|sgn|topk|bottomk|limitk|limit_ratio|changes|resets|minute|hour|month|year|day\w+|days\w+)\b/;

/**
 * Whether the answer to a query changes smoothly with its samples. Where it has steps, such as those of `floor`, other
 * last digits may change it by a whole step. That says nothing about rounding, so any difference counts as a fault.
 */
export function isSmooth(query: string): boolean {
  return !steps.test(query.replaceAll(/\{[^{}]*\}|"[^"]*"/g, ''));
}

/**
 * Whether another engine's number is as close to our own numbers as they are to one another. `own`: the numbers over
 * samples with other last digits.
 */
export function isWithinReach(other: number, own: readonly number[]): boolean {
  const numbers = own.filter((value) => !Number.isNaN(value));
  if (Number.isNaN(other)) return numbers.length < own.length;
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const reach = Number.isFinite(high - low) ? high - low : 0;
  return other >= low - reach && other <= high + reach;
}

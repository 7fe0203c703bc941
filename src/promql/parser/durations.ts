import { formatPrometheusDuration, prometheusDuration } from '../../base/duration.ts';

/** The longest duration Prometheus can hold: int64 nanoseconds, here in seconds. */
export const maxDurationSeconds = 2 ** 63 / 1e9;

/**
 * Milliseconds of a duration literal such as `1h30m`: each unit at most once, largest first.
 * Errors: throws an Error whose message is the reason.
 */
export function parseDurationLiteral(text: string): number {
  const total = prometheusDuration(text);
  if (total === undefined) throw new Error(`not a valid duration string: ${JSON.stringify(text)}`);
  if (total / 1000 > maxDurationSeconds) throw new Error('duration out of range');
  return total;
}

/** The literal Prometheus prints for a duration. */
export function formatDurationLiteral(milliseconds: number): string {
  return formatPrometheusDuration(Math.trunc(milliseconds));
}

import { prometheusDuration } from '../../base/duration.ts';

const unitMs = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};

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

/** The literal Prometheus prints for a duration; days, weeks and years only where they divide it exactly. */
export function formatDurationLiteral(milliseconds: number): string {
  let ms = Math.trunc(milliseconds);
  if (ms === 0) return '0s';
  let out = '';
  const take = (unit: keyof typeof unitMs, exact: boolean): void => {
    const size = unitMs[unit];
    if (exact && ms % size !== 0) return;
    const n = Math.floor(ms / size);
    if (n > 0) {
      out += `${n}${unit}`;
      ms -= n * size;
    }
  };
  take('y', true);
  take('w', true);
  take('d', false);
  take('h', false);
  take('m', false);
  take('s', false);
  take('ms', false);
  return out;
}

import { prometheusDuration } from '../../../base/duration.ts';
import { UsageError } from '../errors.ts';

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/;

/** A duration as PromQL writes it (`1h30m`, `2d`), or seconds as a number. Units: ms. Errors: UsageError. */
export function durationFlag(text: string, flag: string): number {
  const ms = durationOf(text);
  if (ms === undefined || ms <= 0)
    throw new UsageError(`${flag} ${JSON.stringify(text)} is no duration such as 30s, 5m, 1h30m`);
  return ms;
}

/**
 * A moment: RFC 3339, seconds since 1970, `now`, or a duration before now (`5m`, `-5m`).
 * Units: ms since 1970. Errors: UsageError.
 */
export function timeFlag(text: string, flag: string, now: number): number {
  if (text === 'now') return now;
  if (rfc3339.test(text)) {
    const ms = Date.parse(text);
    if (!Number.isNaN(ms)) return ms;
  }
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const ago = durationOf(text.replace(/^-/, ''));
  if (ago !== undefined) return now - ago;
  throw new UsageError(
    `${flag} ${JSON.stringify(text)} is no time such as 2026-01-31T12:00:00Z, 1767225600, or 5m for five minutes ago`,
  );
}

function durationOf(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  return prometheusDuration(text);
}

const niceSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];

/** A step that divides a time span into about `points` steps at most; a round number of seconds. Units: ms. Pure. */
export function niceStep(spanMs: number, points: number): number {
  const wanted = spanMs / 1000 / points;
  const seconds = niceSteps.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
  return seconds * 1000;
}

/** A time as the query API takes it: seconds since 1970. */
export const apiTime = (ms: number): string => String(ms / 1000);

/** A time in readable form: RFC 3339 in UTC, without needless fractions. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

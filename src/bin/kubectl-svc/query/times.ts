import { prometheusDuration } from '../../../base/duration.ts';
import { parseRfc3339 } from '../../../base/text/rfc3339.ts';
import { UsageError } from '../errors.ts';

/** A duration as PromQL writes it (`1h30m`, `2d`), or seconds as a number. Units: ms. Errors: UsageError. */
export function durationFlag(text: string, flag: string): number {
  const ms = durationOf(text);
  if (ms === undefined || ms <= 0)
    throw new UsageError(`${flag} ${JSON.stringify(text)} is no duration such as 30s, 5m, 1h30m`);
  return ms;
}

const latestMs = Date.parse('9999-12-31T23:59:59Z');

/**
 * A moment from 1970 to 9999: RFC 3339, seconds since 1970, `now`, or a duration before now (`5m`, `-5m`).
 * Units: ms since 1970. Errors: UsageError.
 */
export function timeFlag(text: string, flag: string, now: number): number {
  const ms = timeOf(text, now);
  const value = `${flag} ${JSON.stringify(text)}`;
  if (ms === undefined) {
    throw new UsageError(`${value} is no time such as 2026-01-31T12:00:00Z, 1767225600, or 5m for five minutes ago`);
  }
  if (ms >= 0 && ms <= latestMs) return ms;
  throw new UsageError(`${value} is not between the years 1970 and 9999; a plain number is in seconds since 1970`);
}

function timeOf(text: string, now: number): number | undefined {
  if (text === 'now') return now;
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000);
  const ago = durationOf(text.replace(/^-/, ''));
  return ago === undefined ? parseRfc3339(text) : now - ago;
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

import { prometheusDuration } from '../../base/duration.ts';
import { decimalSource } from '../../base/text/decimal.ts';
import { parseRfc3339 } from '../../base/text/rfc3339.ts';

const minTimeText = '-292273086-05-16T16:47:06Z';
const maxTimeText = '292277025-08-18T07:12:54.999999999Z';
/** Stand for Prometheus' earliest and latest times. Units: ms; both are exact as integers. */
export const minTimeMs = -(2 ** 51);
export const maxTimeMs = 2 ** 51;

const number = new RegExp(`^[+-]?${decimalSource}$`);

/** A time parameter: seconds as a float, or RFC 3339. Milliseconds; undefined when it is neither. */
export function parseTime(text: string): number | undefined {
  if (number.test(text)) return inRange(Math.round(Number(text) * 1000));
  if (text === minTimeText) return minTimeMs;
  if (text === maxTimeText) return maxTimeMs;
  const ms = parseRfc3339(text);
  return ms === undefined ? undefined : inRange(ms);
}

/** A duration parameter: seconds as a float, or `1h30m` with y w d h m s ms in this order. Milliseconds. */
export function parseDurationParameter(text: string): number | undefined {
  if (number.test(text)) return inRange(Number(text) * 1000);
  const ms = prometheusDuration(text);
  return ms === undefined ? undefined : inRange(ms);
}

function inRange(ms: number): number | undefined {
  return ms >= minTimeMs && ms <= maxTimeMs ? ms : undefined;
}

/** A timestamp as the API writes it: whole seconds, or seconds with exactly three decimals. */
export function formatTimestamp(ms: number): string {
  const size = Math.abs(ms);
  const seconds = Math.floor(size / 1000);
  const rest = size % 1000;
  const text = rest === 0 ? String(seconds) : `${seconds}.${String(rest).padStart(3, '0')}`;
  return ms < 0 ? `-${text}` : text;
}

import { OperatorError } from './errors.ts';

/** The duration units of Prometheus in milliseconds, largest first. Our resources and flags use none above hours. */
const unitMs = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};
type Unit = keyof typeof unitMs;

/**
 * Parses a duration of our resources and flags: `^([0-9]+(ms|s|m|h))+$`, at most 32 characters, e.g. `1m30s`.
 * The result is in milliseconds. Errors: ERR_INPUT_INVALID that names `field`.
 */
export function parseDuration(text: string, field: string): number {
  if (text.length > 32 || !/^([0-9]+(ms|s|m|h))+$/.test(text)) {
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${field}: ${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h30m`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h)/g)) total += Number(amount) * unitMs[unit as Unit];
  return total;
}

/** The shortest text of a whole number of milliseconds that `parseDuration` reads back, e.g. 90000 → `1m30s`. */
export function formatDuration(ms: number): string {
  return inUnits(ms, ['h', 'm', 's', 'ms']);
}

/** A whole number of milliseconds as Prometheus prints it: years and weeks only where they divide it exactly. */
export function formatPrometheusDuration(ms: number): string {
  const exact = (['y', 'w'] as const).filter((unit) => ms % unitMs[unit] === 0);
  return inUnits(ms, [...exact, 'd', 'h', 'm', 's', 'ms']);
}

function inUnits(ms: number, units: readonly Unit[]): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const unit of units) {
    const n = Math.floor(rest / unitMs[unit]);
    if (n > 0) text += `${n}${unit}`;
    rest -= n * unitMs[unit];
  }
  return text;
}

const ofPrometheus = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Parses a duration as Prometheus writes it, such as `1h30m`: y w d h m s ms, each unit at most once, largest first.
 * The result is in milliseconds; undefined if `text` is not such a duration.
 */
export function prometheusDuration(text: string): number | undefined {
  const match = text === '' ? null : ofPrometheus.exec(text);
  if (!match) return undefined;
  return Object.values(unitMs).reduce((sum, size, i) => sum + Number(match[i + 1] ?? 0) * size, 0);
}

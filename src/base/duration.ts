import { OperatorError } from './errors.ts';

const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/**
 * Parses a duration of our resources and flags: `^([0-9]+(ms|s|m|h))+$`, at most 32 characters, e.g. `1m30s`.
 * Units: milliseconds. Errors: ERR_INPUT_INVALID that names `field`.
 */
export function parseDuration(text: string, field: string): number {
  if (text.length > 32 || !/^([0-9]+(ms|s|m|h))+$/.test(text)) {
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${field}: ${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h30m`,
    );
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h)/g)) total += Number(amount) * units[unit!]!;
  return total;
}

/** The shortest text of a whole number of milliseconds that `parseDuration` reads back, e.g. 90000 → `1m30s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, size] of [
    ['h', 3_600_000],
    ['m', 60_000],
    ['s', 1_000],
    ['ms', 1],
  ] as const) {
    const n = Math.floor(rest / size);
    if (n > 0) text += `${n}${unit}`;
    rest -= n * size;
  }
  return text;
}

const ofPrometheus = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const sizes = [31_536_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1];

/**
 * A duration as Prometheus writes it, such as `1h30m`: y w d h m s ms, each unit at most once, largest first.
 * Units: ms. Undefined for another text.
 */
export function prometheusDuration(text: string): number | undefined {
  const match = text === '' ? null : ofPrometheus.exec(text);
  return match ? sizes.reduce((sum, size, i) => sum + Number(match[i + 1] ?? 0) * size, 0) : undefined;
}

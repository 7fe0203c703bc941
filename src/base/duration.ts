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

const unitMs: Record<string, number> = {
  y: 365 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
};
const shape = /^(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;
const order = ['y', 'w', 'd', 'h', 'm', 's', 'ms'] as const;

/** The longest duration Prometheus can hold: int64 nanoseconds, here in seconds. */
export const maxDurationSeconds = 2 ** 63 / 1e9;

/**
 * Milliseconds of a duration literal such as `1h30m`: each unit at most once, largest first.
 * Errors: throws an Error whose message is the reason.
 */
export function parseDurationLiteral(text: string): number {
  const match = shape.exec(text);
  if (match === null || text === '') throw new Error(`not a valid duration string: ${JSON.stringify(text)}`);
  let total = 0;
  order.forEach((unit, i) => {
    total += Number(match[i + 1] ?? 0) * unitMs[unit]!;
  });
  if (total / 1000 > maxDurationSeconds) throw new Error('duration out of range');
  return total;
}

/** The literal Prometheus prints for a duration; days, weeks and years only where they divide it exactly. */
export function formatDurationLiteral(milliseconds: number): string {
  let ms = Math.trunc(milliseconds);
  if (ms === 0) return '0s';
  let out = '';
  const take = (unit: (typeof order)[number], exact: boolean): void => {
    const size = unitMs[unit]!;
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

/** Reads and writes durations in the form that URLs have and that people type. Pure. */

/** Seconds of a duration such as `90`, `5m`, `1h30m` or `2d`; undefined for any other text. */
export function secondsOf(text: string): number | undefined {
  const compact = text.trim().replaceAll(' ', '');
  if (/^\d+(\.\d+)?$/.test(compact)) return Number(compact) || undefined;
  if (!/^(\d+(\.\d+)?(ms|[smhdwy]))+$/.test(compact)) return undefined;
  const units: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400, w: 604_800, y: 31_536_000 };
  const parts = compact.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g);
  return [...parts].reduce((sum, [, count, unit]) => sum + Number(count) * units[unit!]!, 0) || undefined;
}

/** Seconds as the shortest duration of whole units: 5400 is `1h30m`. */
export function durationText(seconds: number): string {
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
    ['s', 1],
  ];
  let rest = Math.max(1, Math.round(seconds));
  let text = '';
  for (const [name, size] of units) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${name}`;
    rest -= count * size;
  }
  return text;
}

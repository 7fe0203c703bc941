const form = /^(\d{4}-\d{2}-(\d{2}))T(\d{2}):\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/;

/**
 * A time as RFC 3339 writes it, with its zone. Units: ms since 1970; undefined for any other text and for a time that
 * does not exist, such as 31 February or 24:00, which `Date.parse` takes for one of the next day.
 */
export function parseRfc3339(text: string): number | undefined {
  const [, date, day, hour, zoneHour = '0', zoneMinute = '0'] = form.exec(text) ?? [];
  if (date === undefined || Number(hour) > 23 || Number(zoneHour) > 23 || Number(zoneMinute) > 59) return undefined;
  if (new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

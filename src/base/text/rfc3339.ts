const form = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):\d{2}(?:\.\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/;

/**
 * A time as RFC 3339 writes it, with its zone. Units: ms since 1970; undefined for any other text and for a time that
 * does not exist, such as 31 February or 24:00, which `Date.parse` takes for one of the next day.
 */
export function parseRfc3339(text: string): number | undefined {
  const [, year, month, day, hour, , zoneHour = '0', zoneMinute = '0'] = form.exec(text) ?? [];
  if (year === undefined || Number(hour) > 23 || Number(zoneHour) > 23 || Number(zoneMinute) > 59) return undefined;
  // Day 0 of the next month is the last one of this month.
  const lastDay = new Date(Date.UTC(2000, Number(month), 0));
  lastDay.setUTCFullYear(Number(year), Number(month), 0);
  if (Number(day) > lastDay.getUTCDate()) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

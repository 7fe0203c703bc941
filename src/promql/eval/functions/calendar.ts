const smallestInt64 = -(2n ** 63n);
/** Seconds from Go's first day, 1 March of the year −292277022400, to 1970. */
const toFirstDay = 9_223_372_028_741_760_000n;
const firstYear = -292_277_022_400;
const daySeconds = 86_400n;
const daysOf400Years = 146_097n;

/** The fields of a time that the date functions return. */
export type CalendarTime = ReturnType<typeof calendarOf>;

/**
 * UTC calendar of a time in seconds, for every float: a value outside int64 counts as the smallest int64, and times
 * before Go's first day wrap around to the far end, as in Go.
 */
export function calendarOf(seconds: number) {
  const whole = Math.abs(seconds) < 2 ** 63 ? BigInt(Math.trunc(seconds)) : smallestInt64;
  const sinceFirst = BigInt.asUintN(64, whole + toFirstDay);
  const days = sinceFirst / daySeconds;
  const ofDay = Number(sinceFirst % daySeconds);
  const cycles = Number(days / daysOf400Years);
  // The calendar repeats every 400 years: the date is computed within the cycle that begins on 1 March 2000.
  const inCycle = Number(days % daysOf400Years);
  const date = new Date(Date.UTC(2000, 2, 1) + inCycle * 86_400_000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    minute: Math.floor(ofDay / 60) % 60,
    hour: Math.floor(ofDay / 3600),
    dayOfWeek: date.getUTCDay(),
    dayOfMonth: date.getUTCDate(),
    dayOfYear: Math.round((Date.UTC(year, month, date.getUTCDate()) - Date.UTC(year, 0, 1)) / 86_400_000) + 1,
    daysInMonth: new Date(Date.UTC(year, month + 1, 0)).getUTCDate(),
    month: month + 1,
    year: year - 2000 + cycles * 400 + firstYear,
  };
}

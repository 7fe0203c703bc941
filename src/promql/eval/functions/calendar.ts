const smallestInt64 = -(2n ** 63n);
/** Seconds from Go's first day, 1 March of the year −292277022400, to 1970. */
const toFirstDay = 9_223_372_028_741_760_000n;
const firstYear = -292_277_022_400;
/** Seconds from 1 March 2000, when a cycle of the calendar begins, back to 1970. */
const to2000 = 951_868_800;
const daySeconds = 86_400;
const daysOf400Years = 146_097;
const cycleSeconds = daySeconds * daysOf400Years;
/** Below this many seconds, a time is computed with doubles. */
const exactSeconds = 8.64e12;
/** 1 March 2000 was a Wednesday. */
const firstWeekday = 3;
/** The day of the year of 1 March without a leap day, from 1. */
const firstOfMarch = 60;
/** The days from 1 March to each month, beginning with March. */
const monthStarts = [0, 31, 61, 92, 122, 153, 184, 214, 245, 275, 306, 337];

/**
 * A UTC time in seconds, in cycles of 400 years, after which the calendar repeats: the year in which its cycle begins on
 * 1 March, and the seconds since then.
 */
interface CycleTime {
  readonly year: number;
  readonly seconds: number;
}

/**
 * Every float has its place: a value outside int64 counts as the smallest int64, and times before Go's first day wrap
 * around to the far end, as in Go.
 */
function inCycle(time: number): CycleTime {
  if (Math.abs(time) < exactSeconds) {
    const since2000 = Math.trunc(time) - to2000;
    const cycles = Math.floor(since2000 / cycleSeconds);
    return { year: 2000 + 400 * cycles, seconds: since2000 - cycles * cycleSeconds };
  }
  const whole = Math.abs(time) < 2 ** 63 ? BigInt(Math.trunc(time)) : smallestInt64;
  const sinceFirst = BigInt.asUintN(64, whole + toFirstDay);
  const cycle = BigInt(cycleSeconds);
  return { year: firstYear + 400 * Number(sinceFirst / cycle), seconds: Number(sinceFirst % cycle) };
}

const dayOf = ({ seconds }: CycleTime): number => Math.floor(seconds / daySeconds);

/** The years that begin on 1 March: how many have passed since the cycle's first, and how many days of the next. */
function yearOf(time: CycleTime): { readonly years: number; readonly days: number } {
  const day = dayOf(time);
  // The leap day is the last day of such a year. A century has one day less than 25 times four years, but for the last.
  const leapDays = Math.floor(day / 1_460) - Math.floor(day / 36_524) + Math.floor(day / 146_096);
  const years = Math.floor((day - leapDays) / 365);
  const days = day - 365 * years - Math.floor(years / 4) + Math.floor(years / 100);
  return { years, days };
}

/** The month, from March as 0, and the day in it, from 0. */
function monthOf(time: CycleTime): { readonly month: number; readonly day: number; readonly years: number } {
  const { years, days } = yearOf(time);
  let month = 11;
  while (monthStarts[month]! > days) month--;
  return { month, day: days - monthStarts[month]!, years };
}

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

/** The year of a time, of the cycle or of all. January and February belong to the next year. */
const calendarYear = (first: number, { month, years }: { month: number; years: number }): number =>
  first + years + (month >= 10 ? 1 : 0);

/** The fields of a time that the date functions return, each for a time in seconds: see `inCycle`. */
export const calendarFields = {
  minute: (seconds: number): number => Math.floor(inCycle(seconds).seconds / 60) % 60,
  hour: (seconds: number): number => Math.floor(inCycle(seconds).seconds / 3600) % 24,
  dayOfWeek: (seconds: number): number => (firstWeekday + dayOf(inCycle(seconds))) % 7,
  dayOfMonth: (seconds: number): number => monthOf(inCycle(seconds)).day + 1,
  dayOfYear: (seconds: number): number => {
    const time = inCycle(seconds);
    const { days, years } = yearOf(time);
    // From 1 March to the end of December there are 306 days.
    return days >= 306 ? days - 305 : days + firstOfMarch + (isLeap(time.year + years) ? 1 : 0);
  },
  daysInMonth: (seconds: number): number => {
    const time = inCycle(seconds);
    const date = monthOf(time);
    if (date.month === 11) return isLeap(calendarYear(time.year, date)) ? 29 : 28;
    return monthStarts[date.month + 1]! - monthStarts[date.month]!;
  },
  month: (seconds: number): number => ((monthOf(inCycle(seconds)).month + 2) % 12) + 1,
  year: (seconds: number): number => {
    const time = inCycle(seconds);
    return calendarYear(time.year, monthOf(time));
  },
};

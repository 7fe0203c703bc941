import { calendarFields } from './calendar.ts';

/** All fields of a time. */
const calendarOf = (seconds: number): Record<string, number> =>
  Object.fromEntries(Object.entries(calendarFields).map(([field, of]) => [field, of(seconds)]));

describe('the calendar of a time', () => {
  test.each([0, 1, -1, 86_399, 951_782_400, 1_700_000_000, 4_102_444_799, -62_135_596_800, -62_167_219_200])(
    'agrees with Date at %i s',
    (seconds) => {
      const date = new Date(seconds * 1000);
      expect(calendarOf(seconds)).toMatchObject({
        minute: date.getUTCMinutes(),
        hour: date.getUTCHours(),
        dayOfWeek: date.getUTCDay(),
        dayOfMonth: date.getUTCDate(),
        month: date.getUTCMonth() + 1,
        year: date.getUTCFullYear(),
      });
    },
  );

  test('knows leap years', () => {
    expect(calendarOf(Date.UTC(2000, 1, 29) / 1000)).toMatchObject({ dayOfYear: 60, daysInMonth: 29 });
    expect(calendarOf(Date.UTC(1900, 11, 31) / 1000)).toMatchObject({ dayOfYear: 365, daysInMonth: 31 });
  });

  test('agrees with Date on every day of a cycle of 400 years and of both its neighbours', () => {
    const day = 86_400;
    const wrong: number[] = [];
    for (let i = -146_097; i < 2 * 146_097; i++) {
      const seconds = i * day + ((i * 7_919) % day);
      const date = new Date(seconds * 1000);
      const [year, month, dayOfMonth] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
      const midnight = date.setUTCHours(0, 0, 0, 0);
      const isRight =
        calendarFields.year(seconds) === year &&
        calendarFields.month(seconds) === month + 1 &&
        calendarFields.dayOfMonth(seconds) === dayOfMonth &&
        calendarFields.dayOfWeek(seconds) === date.getUTCDay() &&
        calendarFields.dayOfYear(seconds) === (midnight - date.setUTCMonth(0, 1)) / 86_400_000 + 1 &&
        calendarFields.daysInMonth(seconds) === new Date(date.setUTCMonth(month + 1, 0)).getUTCDate();
      if (!isRight) wrong.push(seconds);
    }
    expect(wrong).toEqual([]);
  });

  test('is the same with doubles as with big integers, which begin at 8.64e12 s', () => {
    const cycle = 146_097 * 86_400;
    for (const seconds of [8.64e12 - 1, -8.64e12 + 1, 8.64e12 - 12_345_678]) {
      const beyond = seconds + Math.sign(seconds) * cycle;
      const { year, ...rest } = calendarOf(seconds);
      expect(calendarOf(beyond)).toEqual({ year: year! + 400 * Math.sign(seconds), ...rest });
    }
  });

  test('works beyond the range of Date', () => {
    expect(calendarOf(1e15)).toMatchObject({ year: 31_690_708, minute: 46 });
  });
});

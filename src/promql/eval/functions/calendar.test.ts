import { calendarOf } from './calendar.ts';

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

  test('works beyond the range of Date', () => {
    expect(calendarOf(1e15)).toMatchObject({ year: 31_690_708, minute: 46 });
  });
});

import { durationText, secondsOf } from './duration.ts';

test.each([
  ['90', 90],
  ['5m', 300],
  ['1h30m', 5_400],
  ['1d 2h', 93_600],
  ['500ms', 0.5],
  ['', undefined],
  ['0', undefined],
  ['5x', undefined],
  ['m5', undefined],
])('the duration %p is %p seconds', (text, seconds) => expect(secondsOf(text)).toBe(seconds));

test('a duration is written so that it is read as the same', () => {
  const lengths = [1, 59, 60, 300, 5_400, 86_400, 93_784];
  expect(lengths.map((seconds) => secondsOf(durationText(seconds)))).toEqual(lengths);
  expect(durationText(5_400)).toBe('1h30m');
});

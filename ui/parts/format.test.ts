import { bytes, duration, momentText, percent, seriesName, short, span, timeLeft } from './format.ts';

test.each([
  [null, '–'],
  [0, '0'],
  [0.00042, '4.2e−4'],
  [0.5, '0.5'],
  [1.005, '1'],
  [12.34, '12.3'],
  [999.96, '1k'],
  [1_234, '1.23k'],
  [-4_560_000, '−4.56M'],
  [Infinity, '∞'],
])('a number of %p is written %s', (value, text) => expect(short(value)).toBe(text));

test.each([
  [null, '–'],
  [0, '0 %'],
  [0.0002, '<0.1 %'],
  [0.012, '1.2 %'],
  [0.5, '50 %'],
  [1, '100 %'],
])('a share of %p is written %s', (share, text) => expect(percent(share)).toBe(text));

test.each([
  [0.25, '250 µs'],
  [12, '12 ms'],
  [999.6, '1 s'],
  [1_500, '1.5 s'],
  [180_000, '3 min'],
])('%p ms are written %s', (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [512, '512 B'],
  [1_024, '1 KiB'],
  [1_048_575, '1 MiB'],
  [180_000_000, '172 MiB'],
])('%p bytes are written %s', (value, text) => expect(bytes(value)).toBe(text));

test('a duration is written in its largest unit', () => {
  expect([span(900), span(61_000), span(7_300_000), span(-172_800_000)]).toEqual(['0 s', '1 min', '2 h', '2 d']);
});

test('a time that is over is marked as ended', () => {
  expect([timeLeft(172_800_000), timeLeft(-172_800_000)]).toEqual(['2 d', 'ended 2 d ago']);
});

test('a series is written as PromQL writes it', () => {
  expect(seriesName({ __name__: 'up', a: 'x"y' })).toBe('up{a="x\\"y"}');
  expect(seriesName({})).toBe('{}');
});

test('a moment has its date if it is not of today', () => {
  const now = new Date(2026, 10, 26, 14, 0, 0).getTime();
  const [today, yesterday] = [momentText(now - 9_000, now), momentText(now - 15 * 3_600_000, now)];
  expect(today).toBe('13:59:51');
  expect(yesterday).toMatch(/25.*, 23:00:00$/);
});

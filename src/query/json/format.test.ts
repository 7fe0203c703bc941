import fc from 'fast-check';
import { formatSample, formatScalar } from './format-value.ts';
import { formatTimestamp, maxTimeMs, minTimeMs, parseDurationParameter, parseTime } from './times.ts';

test.each<[value: number, sample: string, scalar: string]>([
  [0, '0', '0'],
  [-0, '-0', '-0'],
  [1e-7, '1e-07', '0.0000001'],
  [-1.25e-9, '-1.25e-09', '-0.00000000125'],
  [1e-10, '1e-10', '0.0000000001'],
  [1e21, '1e+21', '1000000000000000000000'],
  [1.5e300, '1.5e+300', `15${'0'.repeat(299)}`],
  [123456789.5, '123456789.5', '123456789.5'],
  [NaN, 'NaN', 'NaN'],
  [Infinity, '+Inf', '+Inf'],
  [-Infinity, '-Inf', '-Inf'],
])('%d is %s in a vector and %s as a scalar', (value, sample, scalar) => {
  expect([formatSample(value), formatScalar(value)]).toEqual([sample, scalar]);
});

test('a number written for a vector or as a scalar reads back as the same number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      expect(Number(formatSample(value))).toBe(value);
      expect(Number(formatScalar(value))).toBe(value);
      expect(formatScalar(value)).not.toContain('e');
    }),
  );
});

test.each<[text: string, ms: number | undefined]>([
  ['1795240800', 1_795_240_800_000],
  ['1795240800.5', 1_795_240_800_500],
  ['1795240800.1234', 1_795_240_800_123],
  ['-1.5', -1500],
  ['1e3', 1_000_000],
  ['2026-11-21T06:00:00Z', 1_795_240_800_000],
  ['2026-11-21T07:00:00.250+01:00', 1_795_240_800_250],
  ['-292273086-05-16T16:47:06Z', minTimeMs],
  ['292277025-08-18T07:12:54.999999999Z', maxTimeMs],
  ['', undefined],
  ['abc', undefined],
  ['2026-11-21', undefined],
  ['2024-02-31T00:00:00Z', undefined],
  ['NaN', undefined],
  ['1e30', undefined],
])('the time %j is %p', (text, ms) => {
  expect(parseTime(text)).toBe(ms);
});

test.each<[text: string, ms: number | undefined]>([
  ['15', 15_000],
  ['0.25', 250],
  ['1h30m', 5_400_000],
  ['1y2w3d4h5m6s7ms', 31_536_000_000 + 2 * 604_800_000 + 3 * 86_400_000 + 4 * 3_600_000 + 5 * 60_000 + 6_007],
  ['30m1h', undefined],
  ['', undefined],
  ['5x', undefined],
])('the duration %j is %p ms', (text, ms) => {
  expect(parseDurationParameter(text)).toBe(ms);
});

test.each([
  [1_795_240_800_000, '1795240800'],
  [1_795_240_800_500, '1795240800.500'],
  [5, '0.005'],
  [-1500, '-1.500'],
  [0, '0'],
])('the timestamp %d is written %s', (ms, text) => {
  expect(formatTimestamp(ms)).toBe(text);
});

test('a time or duration of many digits that is none is refused at once', () => {
  const text = `${'1'.repeat(20_000)}x`;
  const before = process.cpuUsage();
  expect([parseTime(text), parseDurationParameter(text)]).toEqual([undefined, undefined]);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(1_000);
});

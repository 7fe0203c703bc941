import fc from 'fast-check';
import { parseRfc3339 } from './rfc3339.ts';

test.each<[text: string, ms: number | undefined]>([
  ['2026-11-21T06:00:00Z', 1_795_240_800_000],
  ['2026-11-21T07:00:00.250+01:00', 1_795_240_800_250],
  ['2024-02-29T00:00:00Z', 1_709_164_800_000],
  ['0001-02-28T00:00:00Z', -62_130_585_600_000],
  ['2023-02-29T00:00:00Z', undefined],
  ['2024-02-31T00:00:00Z', undefined],
  ['2024-04-31T00:00:00Z', undefined],
  ['2024-01-00T00:00:00Z', undefined],
  ['2024-00-01T00:00:00Z', undefined],
  ['2024-13-01T00:00:00Z', undefined],
  ['2024-01-01T24:00:00Z', undefined],
  ['2024-01-01T23:60:00Z', undefined],
  ['2024-01-01T00:00:60Z', undefined],
  ['2024-01-01T00:00:00+24:00', undefined],
  ['2024-01-01T00:00:00+01:60', undefined],
  ['2024-01-01T00:00:00', undefined],
  ['2024-01-01T00:00Z', undefined],
  ['2024-01-01', undefined],
  ['', undefined],
])('%j is %p', (text, ms) => {
  expect(parseRfc3339(text)).toBe(ms);
});

test('each date that exists reads back as itself', () => {
  const dates = fc.date({
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  fc.assert(fc.property(dates, (date) => parseRfc3339(date.toISOString()) === date.getTime()));
});

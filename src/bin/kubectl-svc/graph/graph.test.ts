import fc from 'fast-check';
import { styles } from '../output/style.ts';
import { graphText } from './graph.ts';
import { scaleOf, shortNumber } from './scale.ts';

const plain = styles({ isTerminal: false }, {});
const minute = 60_000;

test('a scale spans its values and has ticks at round numbers, whatever the values', () => {
  const values = fc.array(fc.double({ min: -1e15, max: 1e15, noNaN: true }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(values, fc.integer({ min: 2, max: 10 }), (list, count) => {
      const { min, max, ticks } = scaleOf(list, count);
      const slack = (max - min) * 1e-6;
      expect(max).toBeGreaterThan(min);
      expect(Math.min(...list)).toBeGreaterThanOrEqual(min - slack);
      expect(Math.max(...list)).toBeLessThanOrEqual(max + slack);
      expect(ticks.length).toBeGreaterThanOrEqual(2);
      expect(ticks.length).toBeLessThanOrEqual(count * 3 + 2);
      // Ticks are multiples of 1, 2 or 5 times a power of ten.
      const step = (max - min) / (ticks.length - 1);
      expect([1, 2, 5]).toContain(Number(step.toExponential(6).slice(0, 8)));
      for (const tick of ticks) expect(Math.abs(tick / step - Math.round(tick / step))).toBeLessThan(1e-6);
    }),
  );
});

test.each([
  [[], [0, 1]],
  [
    [0, 0],
    [0, 1],
  ],
  [[3], [2.6, 3.4]],
  [
    [20, 25],
    [20, 26],
  ],
  [
    [95, 99],
    [94, 100],
  ],
  [
    [NaN, Infinity, 4, 8],
    [0, 10],
  ],
])('the scale of %j is %j', (values, ends) => {
  const { min, max } = scaleOf(values, 4);
  expect(min).toBeCloseTo(ends[0]!);
  expect(max).toBeCloseTo(ends[1]!);
});

test.each([
  [0, '0'],
  [0.25, '0.25'],
  [999, '999'],
  [1500, '1.5k'],
  [-2_500_000, '-2.5M'],
  [0.0000002, '2e-7'],
  [NaN, 'NaN'],
])('%d is shortened to %s', (value, text) => {
  expect(shortNumber(value)).toBe(text);
});

test('points that lie further apart than a step are not joined, and a NaN is a gap', () => {
  const points = [0, 1, 2, 7, 8, 9].map((i) => [i * minute, i === 8 ? NaN : 1] as const);
  const options = { columns: 26, rows: 9, start: 0, end: 9 * minute, stepMs: minute, style: plain };
  const line = graphText([{ label: 'x', points }], options)
    .split('\n')
    .find((text) => /[\u2801-\u28ff]/.test(text))!;
  expect(line.replace(/^.*[┤│]/, '')).toMatch(/^[\u2801-\u28ff]{4,6} {6,}[\u2801-\u28ff] +[\u2801-\u28ff]$/);
});

test('series beyond the eighth are counted and not drawn, and long names are cut', () => {
  const series = Array.from({ length: 12 }, (_, i) => ({
    label: `series-${i}-${'x'.repeat(80)}`,
    points: [[0, i] as const],
  }));
  const text = graphText(series, { columns: 40, rows: 20, start: 0, end: minute, stepMs: minute, style: plain });
  expect(text).toContain('and 4 more series that are not drawn\n');
  expect(text.split('\n').every((line) => [...line].length <= 40)).toBe(true);
  expect(text).toContain('× series-1-xxx');
  expect(text.match(/series-\d+/g)).toEqual(Array.from({ length: 8 }, (_, i) => `series-${i}`));
});

test('the time axis shows its start and end', () => {
  const text = graphText([], { columns: 60, rows: 8, start: 0, end: 5 * minute, stepMs: minute, style: plain });
  const at = (ms: number): string => new Date(ms).toTimeString().slice(0, 8);
  expect(text).toContain(at(0));
  expect(text).toContain(at(5 * minute));
});

import fc from 'fast-check';
import { geometricMean, median, quantile, spreadOf } from './spread.ts';

test('the median of an even number of runs is the mean of the two in the middle', () => {
  expect(median([4, 1, 3, 2])).toBe(2.5);
  expect(median([5, 1, 3])).toBe(3);
});

test('a spread has the number of runs, and the least, median and greatest value, whatever the order of runs', () => {
  // Without -0: sorting keeps -0 and 0 in the order of the runs, as they compare as equal.
  const number = fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map((value) => value + 0);
  const values = fc.array(number, { minLength: 1 });
  fc.assert(
    fc.property(values, (runs) => {
      const { count, min, median: middle, max } = spreadOf(runs);
      expect(spreadOf(runs.toReversed())).toEqual(spreadOf(runs));
      expect([count, min, max]).toEqual([runs.length, Math.min(...runs), Math.max(...runs)]);
      expect(min).toBeLessThanOrEqual(middle);
      expect(middle).toBeLessThanOrEqual(max);
    }),
  );
});

test('no runs, and a run without a number, are errors', () => {
  expect(() => spreadOf([])).toThrow('at least one run');
  expect(() => spreadOf([1, NaN])).toThrow('a run of a figure is NaN');
});

test('a quantile is a value that was measured', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => i + 1);
  expect([0.5, 0.95, 0.99, 1].map((share) => quantile(hundred, share))).toEqual([50, 95, 99, 100]);
  expect(quantile([7], 0.01)).toBe(7);
  const values = fc.array(fc.integer(), { minLength: 1 });
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (measured, share) => {
      expect(measured).toContain(quantile(measured, share));
    }),
  );
});

test('the geometric mean of a half and a double is 1', () => {
  expect(geometricMean([0.5, 2])).toBeCloseTo(1);
});

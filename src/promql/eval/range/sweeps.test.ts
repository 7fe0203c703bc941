import fc from 'fast-check';
import { Pace } from '../../../base/turns/turns.ts';
import { Annotations } from '../../annotations.ts';
import { ColumnBuilder } from '../columns.ts';
import { referenceTime, type Frame } from '../frame.ts';
import type { RangeSeries } from '../select/raw-series.ts';
import { sweepFor } from './sweeps.ts';
import { rangeFunctions } from './table.ts';
import { Window } from './window.ts';
import { WindowGrid } from './window-grid.ts';

const value = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 50 }) },
  { weight: 3, arbitrary: fc.double({ min: -1e3, max: 1e3, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, -0, 1e308, -1e308, 2 ** 53) },
);
const integers = fc.array(fc.integer({ min: -1_000, max: 1_000 }), { minLength: 1, maxLength: 60 });
const values = fc.oneof(integers, fc.array(value, { minLength: 1, maxLength: 60 }));
const gaps = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 60, maxLength: 60 });

/** The function computed window by window, as the reference. */
function byWindow(name: string, series: RangeSeries, range: number, frame: Frame): (number | null)[] {
  const window = new Window(series, range, {
    position: { start: 0, end: 0 },
    annotations: new Annotations(),
    pacing: new Pace(),
    extension: null,
  });
  const timing = { at: null, offset: 0 };
  return Array.from({ length: frame.count }, (_, step) => {
    window.end = referenceTime(frame, timing, step);
    window.start = window.end - range;
    const inside = [...series.floats.times.keys()].filter((i) => {
      const time = series.floats.times[i]!;
      return time > window.start && time <= window.end;
    });
    if (inside.length === 0) return null;
    window.from = inside[0]!;
    window.to = inside.at(-1)! + 1;
    return rangeFunctions.get(name)!.compute(window) === true ? window.result : null;
  });
}

describe.each([
  'rate',
  'increase',
  'delta',
  'sum_over_time',
  'avg_over_time',
  'count_over_time',
  'min_over_time',
  'max_over_time',
])('the sweep of %s', (name) => {
  test('gives the same bits as the function computed for each window by itself', () => {
    let [shown, none] = [0, 0];
    fc.assert(
      fc.property(
        values,
        gaps,
        fc.integer({ min: 5, max: 400 }),
        fc.integer({ min: 1, max: 60 }),
        (numbers, steps, range, step) => {
          let time = 0;
          const times = Float64Array.from(numbers, (_, i) => (time += steps[i]!));
          const floats = { times, values: Float64Array.from(numbers), startTimes: null };
          const frame = { start: 3, step, count: 40 };
          const timing = { at: null, offset: 0 };
          const grid = new WindowGrid(range, timing, frame);
          grid.lay(Float64Array.from(times, (t) => t + 1));
          grid.lay(times);
          const out = new ColumnBuilder(frame.count);
          sweepFor(name)!({ values: floats.values, grid }, out);
          const got = Array.from(out.kinds, (kind, i) => (kind === 0 ? null : out.values[i]!));
          const series = { labels: [], dropName: false, floats, histograms: null };
          expect(got).toEqual(byWindow(name, series, range, frame));
          none += got.filter((one) => one === null).length;
          shown += got.filter((one) => one !== null).length;
        },
      ),
      { numRuns: 100, seed: 17 },
    );
    expect([shown > 500, none > 100]).toEqual([true, true]);
  });
});

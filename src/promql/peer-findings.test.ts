import { MemorySource, type LoadedSample } from '../testing/promql/memory-source.ts';
import { parseMetric } from '../testing/promql/series-description.ts';
import { exponentialBound } from './histogram/buckets.ts';
import { statsOnlySelectors } from './eval/run/stats-only.ts';
import { Engine, emptyHistogram, parse } from './index.ts';

/** Each test covers a difference that a comparison with a real Prometheus over random expressions has found. */

const source = new MemorySource();
source.load(
  parseMetric('x_total{a="1"}'),
  [1, 1, 0, 1e16, 2].map((value, i) => ({ time: i * 30_000, value })),
);
source.load(parseMetric('mixed{a="1"}'), [{ time: 0, value: 1 }]);
source.load(parseMetric('mixed{a="2"}'), [{ time: 0, value: NaN, histogram: emptyHistogram }]);
source.load(parseMetric('floats{a="1"}'), [{ time: 0, value: 1 }]);
source.load(parseMetric('floats{a="2"}'), [{ time: 0, value: 2 }]);
source.load(parseMetric('other'), [{ time: 0, value: 5 }]);
/** Samples half a minute apart, native histograms with these counts. */
const histograms = (...counts: number[]): LoadedSample[] =>
  counts.map((count, i) => ({
    time: i * 30_000,
    value: NaN,
    histogram: { ...emptyHistogram, count, positive: { indexes: [1], counts: [count] } },
  }));
source.load(parseMetric('falling'), histograms(4, 1));
source.load(parseMetric('rising'), histograms(1, 4));
const engine = new Engine({ fillModifiers: true });

test('increase() adds to its result the last value before each counter reset, one by one', async () => {
  // The first sample is close to zero, so extrapolation to the start adds almost nothing.
  const answer = (counted: number): number => counted * ((120 + 120 * (1 / counted)) / 120);
  const oneByOne = answer(2 - 1 + 1 + 1e16);
  const together = answer(2 - 1 + (1 + 1e16));
  expect(oneByOne).not.toBe(together);
  const { value } = await engine.instant('increase(x_total[2m30s])', 120_000, { source });
  expect(value).toMatchObject({ elements: [{ value: oneByOne }] });
});

test('two series of one side count as one match where only one of them combines with the other side', async () => {
  const { value } = await engine.instant('mixed + on () other', 0, { source });
  expect(value).toMatchObject({ elements: [{ labels: [], value: 6 }] });
});

test('two series of one side count as two matches where both are compared, even if neither is true', async () => {
  await expect(engine.instant('floats > on () other', 0, { source })).rejects.toMatchObject({
    errorType: 'execution',
    message: expect.stringContaining('multiple matches for labels') as string,
  });
});

test('two results of a group have the same labels also where the comparison is not true', async () => {
  for (const query of ['floats > on () group_left (a) other', 'floats != on () group_left (a) (other > 4)']) {
    await expect(engine.instant(query, 0, { source })).rejects.toMatchObject({
      errorType: 'execution',
      message: 'multiple matches for labels: grouping labels must ensure unique matches',
    });
  }
  const { value } = await engine.instant('floats > on () group_left (b) other', 0, { source });
  expect(value).toMatchObject({ elements: [] });
});

test('sort() warns in a subquery even if its span has only one step, but not for a selector with @', async () => {
  const warnings = async (query: string): Promise<number> =>
    (await engine.instant(query, 100_000, { source })).warnings.length;
  expect(await warnings('rate((sort(x_total))[1m:])')).toBe(1);
  expect(await warnings('sort(x_total @ 60)')).toBe(0);
});

test('an operand whose match has an incompatible type is combined with the fill value', async () => {
  const { value } = await engine.instant('mixed{a="1"} ^ on () fill_left (3) other', 0, { source });
  expect(value).toMatchObject({ elements: [{ value: 1 }] });
  const filled = await engine.instant('mixed{a="2"} ^ on () fill_left (3) other', 0, { source });
  expect(filled.value).toMatchObject({ elements: [{ labels: [], value: 243 }] });
  const grouped = await engine.instant('mixed{a="2"} ^ on () group_left () fill_left (3) other', 0, { source });
  expect(grouped.value).toMatchObject({ elements: [{ labels: [], value: 243 }] });
});

test('resets of histograms are detected without buckets only where no outer function needs the buckets', () => {
  const found = (query: string): number => statsOnlySelectors(parse(query)).size;
  expect(found('histogram_count(sum(mixed))')).toBe(1);
  expect(found('histogram_quantile(0.9, histogram_count(sum(mixed)))')).toBe(0);
  expect(found('histogram_sum(mixed) + histogram_count(rate(rate(mixed[5m])[5m:]))')).toBe(1);
});

test('a float and a histogram that get the same labels are refused, and neither is dropped', async () => {
  for (const query of ['label_replace(mixed, "a", "x", "", "")', 'label_join(mixed, "a", "-", "b")']) {
    await expect(engine.instant(query, 0, { source })).rejects.toMatchObject({
      errorType: 'execution',
      message: 'vector cannot contain metrics with the same labelset',
    });
  }
});

test('bounds of exponential buckets are those of the fixed list that Prometheus uses', () => {
  expect([exponentialBound(1, 1), exponentialBound(0, 3), exponentialBound(1, 3)]).toEqual([
    1.414213562373095, 1, 1.0905077326652577,
  ]);
});

test('+ and - of two histograms whose counter resets conflict have no result, only a warning; sum() still has one', async () => {
  for (const [op, operation] of Object.entries({ '+': 'addition', '-': 'subtraction' })) {
    const { value, warnings } = await engine.instant(`histogram_count(falling ${op} on () rising)`, 30_000, { source });
    expect(value).toMatchObject({ elements: [] });
    expect(warnings).toEqual([`PromQL warning: conflicting counter resets during histogram ${operation} (1:17)`]);
  }
  const sum = await engine.instant('histogram_count(sum({__name__=~"falling|rising"}))', 30_000, { source });
  expect(sum.value).toMatchObject({ elements: [{ value: 5 }] });
});

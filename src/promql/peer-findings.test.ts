import { MemorySource } from '../testing/promql/memory-source.ts';
import { parseMetric } from '../testing/promql/series-description.ts';
import { exponentialBound } from './histogram/buckets.ts';
import { Engine } from './index.ts';

/** What comparing with a real Prometheus over random expressions brought to light. */
const source = new MemorySource();
source.load(
  parseMetric('x_total{a="1"}'),
  [1e15, 1e-9, 45, 1e15, 60].map((value, i) => ({ time: i * 30_000, value })),
);
const engine = new Engine();

test('values before resets are added back one by one', async () => {
  const { value } = await engine.instant('increase(x_total[2m30s])', 120_000, { source });
  const expected = (60 - 1e15 + 1e15 + 1e15) * 1.25;
  expect(value).toMatchObject({ elements: [{ value: expect.closeTo(expected, -10) as number }] });
});

test('sort warns inside a subquery even where one step falls into its span, and not under @', async () => {
  const warnings = async (query: string): Promise<number> =>
    (await engine.instant(query, 100_000, { source })).warnings.length;
  expect(await warnings('rate((sort(x_total))[1m:])')).toBe(1);
  expect(await warnings('sort(x_total @ 60)')).toBe(0);
});

test('bounds of exponential buckets are those of the table that Prometheus uses', () => {
  expect([exponentialBound(1, 1), exponentialBound(0, 3), exponentialBound(1, 3)]).toEqual([
    1.414213562373095, 1, 1.0905077326652577,
  ]);
});

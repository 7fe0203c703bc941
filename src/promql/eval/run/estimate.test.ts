import { MemorySource } from '../../../testing/promql/memory-source.ts';
import { parseMetric } from '../../../testing/promql/series-description.ts';
import { Engine } from '../../index.ts';
import type { Samples, SeriesSource } from '../../index.ts';

const stored = new MemorySource();
for (let i = 0; i < 100; i++)
  stored.load(parseMetric(`x{i="${i}"}`), [
    { time: 0, value: i },
    { time: 60_000, value: i },
  ]);
let selected = 0;
const counting = {
  select: (request: Parameters<MemorySource['select']>[0]) => {
    selected++;
    return stored.select(request);
  },
};

const words = 'query processing would load too many samples into memory in query execution: ';

test.each([
  ['count_over_time(vector(1)[10d:1ms])', 'a subquery of 864000000 steps, at most 250000'],
  ['max(count_over_time(x[7d:1ms]))', 'a subquery of 604800000 steps, at most 250000'],
  ['predict_linear(x[30d:10ms], 60)', 'a subquery of 259200000 steps, at most 250000'],
  ['max_over_time(sum_over_time(x[1h:1m])[3650d:1m])', 'a subquery of 5256000 steps, at most 250000'],
  ['sum_over_time(x[1h:1ms] @ 60)', 'a subquery of 3600000 steps, at most 250000'],
])('%s is refused for its number of steps before anything is read', async (query, reason) => {
  selected = 0;
  await expect(new Engine().instant(query, 60_000, { source: counting })).rejects.toMatchObject({
    errorType: 'execution',
    code: 'ERR_QUERY_LIMIT',
    message: words + reason,
  });
  expect(selected).toBe(0);
});

test('a range query of too many steps is refused before anything is read', async () => {
  selected = 0;
  await expect(new Engine().range('x', 0, 1e9, 1, { source: counting })).rejects.toMatchObject({
    message: `${words}a query of 1000000001 steps, at most 250000`,
  });
  expect(selected).toBe(0);
});

test('too many series × steps are refused before the first sample is computed', async () => {
  const engine = new Engine({ maxSamples: 100_000 });
  let reads = 0;
  const source: SeriesSource = {
    select: async (request) => {
      const { series } = await stored.select(request);
      const read = (one: (typeof series)[number]) => () => (reads++, one as Samples);
      return { series: series.map((one) => ({ labels: one.labels, read: read(one) })) };
    },
  };
  await expect(engine.instant('x[1h:1s]', 60_000, { source })).rejects.toMatchObject({
    message: words + '100 series at 3600 steps need memory for 204900 samples, at most 100000 are allowed',
  });
  await expect(engine.instant('rate(x[1m])[1h:1s]', 60_000, { source })).rejects.toMatchObject({
    message: words + '100 series at 3600 steps need memory for 204900 samples, at most 100000 are allowed',
  });
  expect(reads).toBe(0);
  await expect(engine.instant('sum(x)[1h:1s]', 60_000, { source })).resolves.toBeDefined();
});

test('too many windows × subquery steps × series are refused', async () => {
  await expect(
    new Engine().range('quantile_over_time(0.5, x[1d:1s])', 0, 10_000_000, 1_000, { source: stored }),
  ).rejects.toMatchObject({
    message:
      words +
      '10001 steps with windows of 86400 subquery steps over 100 series look at 86408640000 samples, at most 10000000000',
  });
});

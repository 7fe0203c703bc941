import { MemorySource } from '../../testing/promql/memory-source.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { Engine, emptyHistogram, type QueryResult, type SeriesSource } from '../index.ts';
import { Budget, sampleBytes } from './budget.ts';

const minute = 60_000;
const series = 50;
const samples = 10;
const steps = 1_000;
/** Size of a step in a column (one series of a result): its kind and its value. Units: bytes. */
const columnBytes = 9;

const source = new MemorySource();
for (let i = 0; i < series; i++) {
  source.load(
    parseMetric(`x{i="${i}", half="${i % 2}"}`),
    Array.from({ length: samples }, (_, n) => ({ time: n * minute, value: n })),
  );
  source.load(
    parseMetric(`h{i="${i}"}`),
    Array.from({ length: samples }, (_, n) => ({
      time: n * minute,
      value: NaN,
      histogram: { ...emptyHistogram, count: n, positive: { indexes: [1, 2, 3], counts: [n, 0, 0] } },
    })),
  );
}

const deferred = (heldBytes: number, from = source): SeriesSource => ({
  select: async (request) => {
    const { series: found } = await from.select(request);
    return { series: found.map((one) => ({ labels: one.labels, read: () => one as never })), sorted: true, heldBytes };
  },
});

const range = (query: string, from: SeriesSource = source, engine = new Engine()): Promise<QueryResult> =>
  engine.range(query, 0, (steps - 1) * minute, minute, { source: from });

const experimental = new Engine({ experimentalFunctions: true });
const peakBytes = async (query: string, from?: SeriesSource): Promise<number> =>
  (await range(query, from, experimental)).stats.peakSamples * sampleBytes;

describe('the memory that a query reports', () => {
  test('counts the buffers of columns, however few of their steps have a value', async () => {
    expect(await peakBytes('x offset 1ms')).toBeGreaterThanOrEqual(series * steps * columnBytes);
  });

  test('counts the samples of a source that hands them over in memory', async () => {
    const loaded = await peakBytes('sum(x)');
    expect(loaded - (await peakBytes('sum(x)', deferred(0)))).toBe(series * samples * sampleBytes);
  });

  test('counts the bytes that the source reports for series whose samples are read later', async () => {
    const kept = 16_000_000;
    expect((await peakBytes('sum(x)', deferred(kept))) - (await peakBytes('sum(x)', deferred(0)))).toBe(kept);
  });

  test('counts the groups of an aggregation, not its input, which is read series by series', async () => {
    const groups = 2;
    const exactSums = 3 * 8;
    const peak = await peakBytes('sum by (half) (x)', deferred(0));
    expect(peak).toBeGreaterThanOrEqual(groups * steps * exactSums);
    expect(peak).toBeLessThan(series * steps * columnBytes);
  });

  test('counts the labels that series are given, also where they share their text', async () => {
    const labels = 20;
    let query = 'x';
    for (let i = 0; i < labels; i++) query = `label_replace(${query}, "l${i}", "y", "", "")`;
    const growth = (await peakBytes(query, deferred(0))) - (await peakBytes('abs(x)', deferred(0)));
    expect(growth).toBeGreaterThanOrEqual(series * labels * 64);
  });

  test.each([
    ['of an expression', '(magnitude)'],
    ['of series', 'magnitude'],
  ])('counts the big integers of a sum %s, until its result is counted', async (_, operand) => {
    const loaded = new MemorySource();
    for (const [i, value] of [1e290, 1.1, 1.7e-300].entries()) {
      const points = Array.from({ length: steps }, (_, n) => ({ time: n * minute, value: (n + 1) * value }));
      loaded.load(parseMetric(`magnitude{i="${i}"}`), points);
    }
    const peak = await peakBytes(`sum(${operand})`, deferred(0, loaded));
    expect(peak - (await peakBytes(`sum(${operand} * 0)`, deferred(0, loaded)))).toBeGreaterThan(steps * 200);
    const sums = Array.from({ length: 5 }, () => `sum(${operand})`).join(' + ');
    expect(await peakBytes(sums, deferred(0, loaded))).toBeLessThan(1.5 * peak);
  });

  test('counts the running figures of stddev, which take more memory than its input', async () => {
    const operand = await peakBytes('x', deferred(0));
    const figures = 3 * 8 * series * steps;
    expect(await peakBytes('stddev by (i) (x)', deferred(0))).toBeGreaterThan(operand + figures);
    const twice = await peakBytes('stddev by (i) (x) + stddev by (i) (x)', deferred(0));
    expect(twice).toBeLessThan(2 * operand + figures + series * 1_000);
  });

  test('counts operands and results together, and only the results afterwards', async () => {
    const one = await peakBytes('x', deferred(0));
    const number = steps * 8;
    expect(await peakBytes('x + 1', deferred(0))).toBe(2 * one + number);
    expect(await peakBytes('x + 1 + 1 + 1', deferred(0))).toBe(2 * one + number);
    expect(await peakBytes('max_over_time(x[2m:1m]) + 1', deferred(0))).toBeLessThan(4 * one);
  });

  test.each([
    '{__name__=~"m.*"} * on () group_left () last_over_time(c[2000m])',
    '{__name__=~"m.*"} * 2',
    'abs({__name__=~"m.*"})',
    'histogram_fraction(0, 1, {__name__=~"m.*"})',
  ])('counts the results of an operation before those with equal labels are joined: %s', async (query) => {
    const turned = new MemorySource();
    turned.load(parseMetric('c'), [{ time: 0, value: 1 }]);
    for (let i = 0; i < series; i++) {
      turned.load(parseMetric(`m${i}{le="1"}`), [
        { time: i * minute, value: 1 },
        { time: (i + 1) * minute, value: NaN, stale: true },
      ]);
    }
    const answer = await range(query, turned);
    expect(answer.value).toMatchObject({ series: [{}] });
    expect(answer.stats.peakSamples * sampleBytes).toBeGreaterThanOrEqual(2 * series * steps * columnBytes);
  });

  test('counts the working memory of info() and histogram_quantiles() until their results are counted', async () => {
    const one = await peakBytes('x', deferred(0));
    expect(await peakBytes('info(x) + 1', deferred(0))).toBe(2 * one + steps * 8);
    const quantiles = await peakBytes('histogram_quantiles(h, "q", 0.5)', deferred(0));
    expect(quantiles).toBe(await peakBytes('histogram_quantile(0.5, h)', deferred(0)));
  });

  test('counts which samples of info series are shown at each step, until the result of info() is counted', async () => {
    const metrics = 50;
    const informed = new MemorySource();
    for (const name of ['b', ...Array.from({ length: metrics }, (_, i) => `m${i}`)]) {
      informed.load(parseMetric(`${name}{job="j",instance="i"}`), [{ time: 0, value: 1 }]);
    }
    const peak = async (query: string): Promise<number> => peakBytes(query, informed);
    const [index, reference] = [4, 8];
    const working = metrics * steps * (index + reference);
    const [without, all] = [await peak('info(b)'), await peak('info(b, {__name__=~"m.+"})')];
    expect(all - without).toBeGreaterThanOrEqual(working);
    const chained = await peak(`info(${'info('.repeat(3)}b${', {__name__=~"m.+"})'.repeat(3)}, {__name__=~"m.+"})`);
    expect(chained - all).toBeLessThan(working);
  });

  test('counts the samples of info series only until the result of info() is counted', async () => {
    const informed = new MemorySource();
    informed.load(parseMetric('b{job="j",instance="i"}'), [{ time: 0, value: 1 }]);
    const points = Array.from({ length: 10 * steps }, (_, n) => ({ time: (n * minute) / 10, value: 1 }));
    informed.load(parseMetric('target_info{job="j",instance="i",v="1"}'), points);
    const [once, twice] = [
      await peakBytes('info(b)', deferred(0, informed)),
      await peakBytes('info(info(b))', deferred(0, informed)),
    ];
    expect(once).toBeGreaterThan(points.length * sampleBytes);
    expect(twice - once).toBeLessThan((points.length * sampleBytes) / 2);
  });

  test('counts the buckets of native histograms', async () => {
    const floats = await peakBytes('x', deferred(0));
    const shown = samples + 4;
    expect((await peakBytes('h', deferred(0))) - floats).toBeGreaterThan(series * shown * 3 * 8);
  });

  test('counts the custom bounds of native histograms', async () => {
    const bounds = 1_000;
    const peaks: number[] = [];
    for (const length of [0, bounds]) {
      const customValues = Array.from({ length }, (_, i) => i);
      const histogram = { ...emptyHistogram, schema: -53, count: 1, customValues };
      const custom = new MemorySource();
      custom.load(parseMetric('h'), [{ time: 0, value: NaN, histogram }]);
      peaks.push(await peakBytes('h', custom));
    }
    expect(peaks[1]! - peaks[0]!).toBeGreaterThanOrEqual(bounds * 8);
  });

  test.each([
    ['rate(wide[5m])', 60_000],
    ['sum_over_time(wide[5m])', 60_000],
    ['wide smoothed offset 1ms', 60_000],
    // The sum keeps those that it reads, one of 1,000 buckets at each of 600 steps.
    ['sum(wide)', 700_000],
    ['avg(wide)', 700_000],
  ])(
    'counts native histograms as they are computed, not when their series is complete: %s',
    async (query, maxSamples) => {
      const indexes = Array.from({ length: 1_000 }, (_, i) => i + 1);
      const wide = new MemorySource();
      wide.load(
        parseMetric('wide'),
        Array.from({ length: 3 * samples }, (_, n) => {
          const positive = { indexes, counts: indexes.map(() => n) };
          return { time: n * minute, value: NaN, histogram: { ...emptyHistogram, count: 1_000 * n, positive } };
        }),
      );
      let turns = 0;
      const next = async (): Promise<void> => void turns++;
      const engine = new Engine({ extendedRangeSelectors: true, maxSamples, turns: { due: () => true, next } });
      const refused = engine.range(query, 0, 10 * minute, 1_000, { source: deferred(0, wide) });
      await expect(refused).rejects.toMatchObject({ code: 'ERR_QUERY_LIMIT' });
      expect(turns).toBeGreaterThan(0);
      expect(turns).toBeLessThan(600 / 2);
    },
  );

  test('counts the native histograms that a sum keeps, until its result is counted', async () => {
    const shown = samples + 4;
    for (const operand of ['h', '(h)']) {
      const peak = await peakBytes(`sum(${operand})`, deferred(0));
      const floats = await peakBytes(`sum(${operand.replace('h', 'x')})`, deferred(0));
      expect(peak - floats).toBeGreaterThan(series * (steps + shown * 3 * 8));
      const sums = Array.from({ length: 5 }, () => `sum(${operand})`).join(' + ');
      expect(await peakBytes(sums, deferred(0))).toBeLessThan(1.5 * peak);
    }
  });

  test('ends the query above the limit with the error of Prometheus', async () => {
    const peak = (await range('x + 1')).stats.peakSamples;
    await expect(range('x + 1', source, new Engine({ maxSamples: peak }))).resolves.toBeDefined();
    await expect(range('x + 1', source, new Engine({ maxSamples: peak - 1 }))).rejects.toMatchObject({
      errorType: 'execution',
      code: 'ERR_QUERY_LIMIT',
      message: expect.stringMatching(/^query processing would load too many samples into memory in query execution/),
    });
  });
});

test('samples that were released from the budget can be charged to it again', () => {
  const budget = new Budget({
    maxSamples: 10,
    timeoutMs: 0,
    monotonic: undefined,
    signal: undefined,
    turns: { due: () => false, next: () => Promise.resolve() },
  });
  budget.hold(10);
  budget.release(4);
  budget.hold(4);
  expect(budget.peak).toBe(10);
  expect(() => budget.hold(1)).toThrow(/too many samples/);
});

import { MemorySource } from '../testing/promql/memory-source.ts';
import { parseMetric } from '../testing/promql/series-description.ts';
import { Engine, type QueryResult, type Samples, type SeriesSource } from './index.ts';

const minute = 60_000;
const memory = new MemorySource();
for (const [metric, factor] of [
  ['x_total{a="1", le="1"}', 1],
  ['x_total{a="1", le="+Inf"}', 3],
  ['x_total{a="2", le="1"}', 7],
  ['y_total{a="2"}', 11],
] as const) {
  memory.load(
    parseMetric(metric),
    Array.from({ length: 20 }, (_, i) => ({ time: i * minute, value: (i % 9) * factor, stale: i === 13 })),
  );
}

/** The series of `memory`, each decoded when it is read, and all of them into the same buffers. */
const deferred: SeriesSource = {
  select: async (request) => {
    const times = new Float64Array(20);
    const words = new Uint32Array(40);
    const { series } = await memory.select(request);
    return {
      series: series.map((one) => {
        const { labels, timestamps, values } = one as Samples & typeof one;
        const read = (): Samples => {
          times.set(timestamps);
          words.set(new Uint32Array(values.buffer, values.byteOffset, values.length * 2));
          return { timestamps: times, values: new Float64Array(words.buffer) };
        };
        return { labels, read };
      }),
    };
  },
};

test.each([
  'x_total',
  'x_total[5m]',
  'sum by (a) (x_total)',
  'sum without (le) (rate(x_total[5m]))',
  'count by (__name__) (rate({__name__=~"x_total|y_total"}[5m]))',
  'max by (__name__, a) (last_over_time({__name__=~"x_total|y_total"}[5m]))',
  'histogram_quantile(0.5, sum by (le) (increase(x_total[5m])))',
  'topk(1, x_total) + on (a, le) x_total offset 2m',
  'timestamp(x_total)',
  'sum(max_over_time(x_total[5m:1m]))',
  'avg(x_total @ 600)',
])('the answer to %s is the same for series that are decoded into shared buffers one after another', async (query) => {
  const engine = new Engine();
  const instant = (source: SeriesSource): Promise<QueryResult> => engine.instant(query, 14 * minute, { source });
  const plain = await answered(instant(memory));
  expect(plain).toMatchObject({ value: {}, read: expect.any(Number) as number });
  expect(await answered(instant(deferred))).toEqual(plain);
  if (query.endsWith('[5m]')) return;
  const range = (source: SeriesSource): Promise<QueryResult> => engine.range(query, 0, 19 * minute, minute, { source });
  expect(await answered(range(deferred))).toEqual(await answered(range(memory)));
});

/**
 * The answer or the error, without the largest number of samples in memory, which depends on the form of the series.
 */
async function answered(query: Promise<QueryResult>): Promise<unknown> {
  try {
    const { value, warnings, infos, stats } = await query;
    return { value, warnings, infos, read: stats.samplesRead };
  } catch (error) {
    return String(error);
  }
}

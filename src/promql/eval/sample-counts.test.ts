import { MemorySource } from '../../testing/promql/memory-source.ts';
import { randomSeries } from '../../testing/promql/random-series.ts';
import { Random } from '../../testing/promql/random.ts';
import { Engine, type QueryResult, type SampleCounts } from '../index.ts';

const features = { experimentalFunctions: true, extendedRangeSelectors: true };
const engine = new Engine(features);

/** Two series with a sample every 30 s from 0 to 720 s. */
const two = new MemorySource();
for (const b of ['c', 'd']) {
  const labels: [string, string][] = [
    ['__name__', 'a'],
    ['b', b],
  ];
  two.load(
    labels,
    Array.from({ length: 25 }, (_, k) => ({ time: k * 30_000, value: k })),
  );
}

const read = ({ stats }: QueryResult): { queryable: number[]; read: number[] } => {
  const { queryable, read: reads } = stats.samples!;
  return { queryable: [...queryable], read: [...reads] };
};

test.each<[what: string, query: string, queryable: number[], reads: number[]]>([
  [
    'a selector counts its series at each step, and equal selectors count separately',
    'sum(a{b="c"} offset 5m) / sum(a{b="c"} offset 5m) + 1',
    [2, 2, 2],
    [2, 2, 2],
  ],
  [
    'a window is queryable as a whole at each step, and only its new samples are read',
    'rate(a[5m])',
    [20, 20, 20],
    [20, 4, 4],
  ],
  ['a window as long as the step is read whole', 'sum(rate(a[1m]))', [4, 4, 4], [4, 4, 4]],
  ['samples between two windows are not read', 'rate(a[30s])', [2, 2, 2], [2, 2, 2]],
  [
    'a value that is the same at every step is queryable at each, and read at the first',
    'rate(a[5m] @ 300) + a @ end()',
    [22, 22, 22],
    [22, 0, 0],
  ],
  [
    'a fixed window is read once, though its function is computed at each step',
    'predict_linear(a[5m] @ 300, 60)',
    [20, 20, 20],
    [20, 0, 0],
  ],
  [
    'the points of a subquery are queryable, and the samples below it are read',
    'max_over_time(rate(a[2m])[2m:1m])',
    [4, 4, 4],
    [12, 4, 4],
  ],
  ['samples of a subquery between two windows do not count', 'max_over_time(a[30s:10s])', [6, 6, 6], [6, 6, 6]],
  ['numbers do not count', 'vector(1) + time()', [0, 0, 0], [0, 0, 0]],
  ['info() counts by its first argument', 'info(a, {b="c"}) + 1', [2, 2, 2], [2, 2, 2]],
  [
    'timestamp() counts, and so does start_timestamp() where no start is stored',
    'timestamp(a) or start_timestamp(a)',
    [4, 4, 4],
    [4, 4, 4],
  ],
  ['an anchored window counts what lies in it', 'increase(a[5m] anchored)', [20, 20, 20], [20, 4, 4]],
])('%s: %s', async (_, query, queryable, reads) => {
  const answer = await engine.range(query, 600_000, 720_000, 60_000, { source: two, countSamples: true });
  expect(read(answer)).toEqual({ queryable, read: reads });
});

test.each<[query: string, queryable: number, reads: number]>([
  ['a', 2, 2],
  ['a[5m]', 20, 20],
  ['max_over_time(rate(a[2m])[5m:1m])', 10, 24],
  // A subquery at the top level counts all samples below it.
  ['a[5m:1m]', 10, 10],
  ['rate(a[2m])[5m:1m]', 40, 24],
  ['"a text"', 0, 0],
])('at one time: %s', async (query, queryable, reads) => {
  const answer = await engine.instant(query, 600_000, { source: two, countSamples: true });
  expect(read(answer)).toEqual({ queryable: [queryable], read: [reads] });
});

test('samples are not counted unless countSamples is set', async () => {
  expect((await engine.instant('a', 600_000, { source: two })).stats.samples).toBeUndefined();
});

test('memory for counts is charged: for a query while it runs, for a subquery while its function runs', async () => {
  const peak = async (query: string, countSamples: boolean): Promise<number> =>
    (await engine.range(query, 600_000, 720_000, 60_000, { source: two, countSamples })).stats.peakSamples;
  expect((await peak('a', true)) - (await peak('a', false))).toBe(3);
  const steps = 3 + 2 * 60 + 60;
  const query = 'max_over_time(a[1m:1s]) + max_over_time(a[1m:1s])';
  const more = (await peak(query, true)) - (await peak(query, false));
  expect(more).toBeGreaterThan(100);
  expect(more).toBeLessThanOrEqual(steps);
});

describe('over random series, with stale markers and native histograms', () => {
  const start = 1_700_000_000_000;
  const source = new MemorySource();
  const shape = { start, interval: 30_000, samples: 60, nodes: 3, histograms: true };
  for (const { labels, samples } of randomSeries(new Random(7), shape)) source.load(labels, samples);
  // Series that become equal when names are dropped are not an error here.
  const plain = new Engine({ ...features, delayedNameRemoval: true });
  const span = [start + 600_000, start + 1_900_000, 40_000] as const;
  const counts = async (query: string): Promise<SampleCounts> =>
    (await plain.range(query, ...span, { source, countSamples: true })).stats.samples!;
  const values = async (query: string): Promise<number[]> => {
    const { value } = await plain.range(query, ...span, { source });
    return value.type === 'matrix' ? [...value.series[0]!.values] : [];
  };

  test.each(['', ' offset 90s', ` @ ${start / 1000 + 900}`])('a selector counts as count() does%s', async (shift) => {
    const all = `{__name__=~".+"}${shift}`;
    const expected = await values(`count(${all})`);
    expect(expected[0]).toBeGreaterThan(10);
    for (const query of [all, `sum by (node) (${all})`, `count(-${all})`, `topk(2, ${all})`]) {
      expect([...(await counts(query)).queryable]).toEqual(expected);
    }
  });

  test.each(['[2m]', '[10m] offset 90s', '[5m:20s]'])('a window counts as count_over_time() does%s', async (window) => {
    const all = `{__name__=~".+"}${window}`;
    const expected = await values(`sum(count_over_time(${all}))`);
    expect(expected[0]).toBeGreaterThan(10);
    for (const name of ['last_over_time', 'sum_over_time', 'rate', 'changes', 'absent_over_time']) {
      expect([...(await counts(`count(${name}(${all}))`)).queryable]).toEqual(expected);
    }
  });
});

import { MemorySource } from '../../testing/promql/memory-source.ts';
import { parseMetric } from '../../testing/promql/series-description.ts';
import { emptyHistogram, Engine } from '../index.ts';

const steps = 4_000;
const source = new MemorySource();
for (let i = 0; i < 150; i++) {
  const samples = Array.from({ length: 15 }, (_, n) => ({ time: n * 299_000, value: n + i }));
  source.load(parseMetric(`x{i="${i}", le="${i}"}`), samples);
}

const longText = 'y'.repeat(16_000);
for (let i = 0; i < 50; i++) source.load(parseMetric(`long{i="${i}", long="${longText}"}`), [{ time: 0, value: i }]);

/** Runs a query at some steps. `onTurn` gets the number of each turn that is given to other work. */
async function run(query: string, onTurn: (turns: number) => void, signal?: AbortSignal, count = steps): Promise<void> {
  let turns = 0;
  const engine = new Engine({
    experimentalFunctions: true,
    turns: {
      due: () => true,
      next: () => {
        onTurn(++turns);
        return Promise.resolve();
      },
    },
  });
  await engine.range(query, 0, (count - 1) * 1_000, 1_000, { source, ...(signal === undefined ? {} : { signal }) });
}

test.each([
  ['an operator with a scalar', 'x * 2'],
  ['a function of each element', 'abs(x)'],
  ['topk', 'topk(3, x)'],
  ['quantile', 'quantile(0.5, x)'],
  ['stddev', 'stddev(x)'],
  ['count_values', 'count_values("v", x{i=~"1.."} > bool 7)'],
  ['histogram_quantile', 'histogram_quantile(0.5, x)'],
])('%s over many columns yields to other work, and stops if it is cancelled during a yield', async (_, query) => {
  let selecting = 0;
  await run('x', (turns) => (selecting = turns));
  let all = 0;
  await run(query, (turns) => (all = turns));
  expect(all).toBeGreaterThan(selecting);
  const stop = new AbortController();
  let seen = 0;
  const told = (turns: number): void => {
    seen = turns;
    if (turns === all) stop.abort();
  };
  const cancelled = run(query, told, stop.signal);
  await expect(cancelled).rejects.toMatchObject({ errorType: 'canceled' });
  expect(seen).toBe(all);
});

/** Values of three magnitudes, whose sum needs a big integer. */
const magnitudes = [1e290, 1.1, 1.7e-300];
for (const [i, value] of magnitudes.entries()) {
  const samples = Array.from({ length: 15 }, (_, n) => ({ time: n * 299_000, value: (n + 1) * value }));
  source.load(parseMetric(`magnitude{i="${i}"}`), samples);
  source.load(
    parseMetric(`same{i="${i}"}`),
    samples.map(({ time }) => ({ time, value: 1 })),
  );
}

/** The values of a number for each factor, without any series. */
const multiples = (factors: readonly number[]): string =>
  factors.map((factor, i) => `label_replace(vector(time() * ${factor}), "i", "${i}", "", "")`).join(' or ');

test.each([
  ['of an expression', multiples(magnitudes), multiples([1, 1, 1])],
  ['of series', 'magnitude', 'same'],
])('avg %s that needs big integers yields as often as their work takes', async (_, big, small) => {
  const turns = { big: 0, small: 0 };
  await run(`avg(${small})`, (turn) => (turns.small = turn));
  await run(`avg(${big})`, (turn) => (turns.big = turn));
  // Each step takes one addition to a big integer and two roundings.
  expect(turns.big - turns.small).toBeGreaterThan((0.95 * steps * (250 + 2 * 500)) / 20_000);
});

test('a date function yields within a column', async () => {
  const turns = { reading: 0, dates: 0 };
  await run('x{i="7"}', (turn) => (turns.reading = turn));
  await run('minute(x{i="7"})', (turn) => (turns.dates = turn));
  expect(turns.dates - turns.reading).toBeGreaterThanOrEqual((20 * steps) / 20_000);
});

test('limit_ratio yields as often as the length of the labels takes that it hashes', async () => {
  const length = 4_000;
  const long = `label_replace(x, "long", "${'y'.repeat(length)}", "", "")`;
  const turns = { without: 0, hashing: 0 };
  await run(long, (turn) => (turns.without = turn), undefined, 1);
  await run(`limit_ratio(1, ${long})`, (turn) => (turns.hashing = turn), undefined, 1);
  expect(turns.hashing - turns.without).toBeGreaterThanOrEqual((150 * length) / 20_000);
});

test.each([
  ['without', 'sum without (i) (long)'],
  ['by with many names', 'sum by (a, b, c, d, e, long) (long)'],
  ['without, of a range function,', 'sum without (i) (last_over_time(long[5m]))'],
])('an aggregation %s yields as often as the length of the labels takes that are its keys', async (_, query) => {
  const turns = { tree: 0, keys: 0 };
  await run('sum by (i) (long)', (turn) => (turns.tree = turn), undefined, 1);
  await run(query, (turn) => (turns.keys = turn), undefined, 1);
  // What is above 20,000 at a look is not carried over.
  expect(turns.keys - turns.tree).toBeGreaterThan((50 * longText.length) / 2 / 20_000);
});

test('columns are sorted with turns that depend on the length of their labels', async () => {
  const length = 4_000;
  const long = `label_replace(x, "a", "${'y'.repeat(length)}", "", "")`;
  const turns = { without: 0, sorting: 0 };
  await run(`sum(${long})`, (turn) => (turns.without = turn), undefined, 1);
  await run(`sum(limitk(1000, ${long}))`, (turn) => (turns.sorting = turn), undefined, 1);
  expect(turns.sorting - turns.without).toBeGreaterThanOrEqual((150 * length) / 8 / 20_000);
});

describe('info() about one series at very many steps yields to other work', () => {
  const count = 20_000;
  const one = new MemorySource();
  const everyOther = (from: number, to = count) =>
    Array.from({ length: (to - from) / 2 }, (_, n) => ({ time: from + 2 * n, value: 1 }));
  one.load(parseMetric('steady{job="j",instance="a"}'), [{ time: 0, value: 1 }]);
  one.load(parseMetric('changing{job="j",instance="b"}'), [{ time: 0, value: 1 }]);
  one.load(parseMetric('target_info{job="j",instance="b",of="0"}'), everyOther(0));
  one.load(parseMetric('target_info{job="j",instance="b",of="1"}'), everyOther(1, count + 1));

  /** How many turns are given while a query over steps of a millisecond runs. */
  async function turnsOf(query: string, steps: number): Promise<number> {
    let turns = 0;
    const next = async (): Promise<void> => void turns++;
    const engine = new Engine({ experimentalFunctions: true, turns: { due: () => true, next } });
    await engine.range(query, 0, steps - 1, 1, { source: one });
    return turns;
  }

  test('where its labels stay the same', async () => {
    const steps = 10 * count;
    const selecting = await turnsOf('steady', steps);
    expect((await turnsOf('info(steady)', steps)) - selecting).toBeGreaterThanOrEqual(steps / 20_000);
  });

  test('where its labels change at each step', async () => {
    const selecting = await turnsOf('changing', count);
    expect((await turnsOf('info(changing)', count)) - selecting).toBeGreaterThanOrEqual(count / 200);
  });
});

describe('over native histograms, other work gets a turn', () => {
  const count = 400;
  const indexes = Array.from({ length: 160 }, (_, i) => i + 1);
  const counts = indexes.map(() => 1);
  const histograms = new MemorySource();
  for (const [name, counterReset] of [
    ['h', 'unknown'],
    ['gauge', 'gauge'],
  ] as const) {
    histograms.load(
      parseMetric(name),
      Array.from({ length: count }, (_, n) => {
        const positive = { indexes, counts: counts.map((one) => one * (n + 1)) };
        return { time: n, value: NaN, histogram: { ...emptyHistogram, count: 160 * (n + 1), positive, counterReset } };
      }),
    );
  }
  // Few are wide, and each has buckets of its own. The others have one bucket, and each is a reset.
  const growing = Array.from({ length: count }, (_, n) => {
    const own = n < 4 ? indexes.map((index) => 160 * n + index) : [1];
    const positive = { indexes: own, counts: own.map(() => 1) };
    const histogram = { ...emptyHistogram, count: own.length, positive, counterReset: 'reset' as const };
    return { time: n, value: NaN, histogram };
  });
  histograms.load(parseMetric('growing'), growing);
  histograms.load(parseMetric('begun_wide'), [growing[0]!, growing[4]!]);
  for (let i = 0; i < count; i++) {
    const histogram = { ...emptyHistogram, count: 160, positive: { indexes, counts } };
    histograms.load(parseMetric(`many{i="${i}"}`), [{ time: count - 1, value: NaN, histogram }]);
  }

  /** How many turns are given while a query runs; with `steps` 1 it is an instant query at the last sample. */
  async function turnsOf(query: string, steps: number): Promise<number> {
    let turns = 0;
    const next = async (): Promise<void> => void turns++;
    const engine = new Engine({ extendedRangeSelectors: true, fillModifiers: true, turns: { due: () => true, next } });
    await engine.range(query, count - steps, count - 1, 1, { source: histograms });
    return turns;
  }

  test.each([
    ...['histogram_stddev(many)', 'histogram_quantile(0.5, many)', 'count_values("v", many)', 'sum(many)'],
    ...['many + many', 'many * 2', '-many', 'many + on (i) group_left () many', 'many smoothed', 'sum by (i) (many)'],
    ...['none * fill_left (2) many', 'avg by (i) (many)'],
  ])('after 5 series of one step at most: %s', async (query) => {
    const reading = await turnsOf('many', 1);
    expect((await turnsOf(query, 1)) - reading).toBeGreaterThanOrEqual(count / 5);
  });

  test.each([
    ...['histogram_stddev(h)', 'histogram_quantile(0.5, h)', 'count_values("v", h)', 'sum(h)'],
    ...['h + h', 'h * 2', '-h', 'h + on () group_left () h', 'gauge smoothed offset 1ms', 'last_over_time(h[1s])'],
    ...['increase(begun_wide[1s])', 'delta(begun_wide[1s])'],
  ])('after 5 steps at most: %s', async (query) => {
    expect(await turnsOf(query, count)).toBeGreaterThanOrEqual(count / 5);
  });

  test.each([
    ...['sum_over_time(h[1s])', 'avg_over_time(h[1s])', 'rate(h[1s])', 'increase(h[1s] anchored)'],
    ...['resets(h[1s])', 'changes(h[1s])', 'sum_over_time(growing[1s])', 'avg_over_time(growing[1s])'],
    ...['rate(growing[1s])', 'increase(growing[1s] anchored)', 'increase(growing[1s] smoothed)'],
  ])('after 5 histograms of one window at most: %s', async (query) => {
    expect(await turnsOf(query, 1)).toBeGreaterThanOrEqual(count / 5);
  });
});

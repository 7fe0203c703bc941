import { Engine } from '../../index.ts';
import type { SeriesSource } from '../../index.ts';
import { Stopwatch } from './stopwatch.ts';

test('neither waiting nor sorting counts as evaluation', async () => {
  let now = 100;
  const pass = (ms: number): void => void (now += ms);
  const stopwatch = new Stopwatch(() => now);
  pass(3);
  await stopwatch.waiting(Promise.resolve().then(() => pass(40)));
  pass(2);
  expect(await stopwatch.sorting(async () => (pass(7), 'sorted'))).toBe('sorted');
  expect(stopwatch.read()).toEqual({ evaluationMs: 5, sortMs: 7 });
});

test('a wait that fails counts as waiting, too', async () => {
  let now = 0;
  const stopwatch = new Stopwatch(() => now);
  const late = Promise.resolve().then(() => {
    now += 9;
    throw new Error('gone');
  });
  await expect(stopwatch.waiting(late)).rejects.toThrow('gone');
  expect(stopwatch.read()).toEqual({ evaluationMs: 0, sortMs: 0 });
});

test('reading series counts as waiting, decoding them as evaluation, and ordering the answer as sorting', async () => {
  let now = 0;
  let looks = 0;
  const deferred = (name: string) => ({
    labels: [['__name__', name]] as const,
    read: () => {
      now += 10;
      return { timestamps: Float64Array.of(1_000), values: Float64Array.of(1) };
    },
  });
  const source: SeriesSource = {
    select: async () => {
      now += 500;
      return { series: [deferred('b'), deferred('a')] };
    },
  };
  // Each read of the clock advances it by a microsecond, so that every phase takes some time.
  const engine = new Engine({ monotonic: () => now + ++looks / 1_000 });
  for (const query of ['{__name__=~"a|b"}', '{__name__=~"a|b"}[1m]']) {
    now = 0;
    const { stats } = await engine.instant(query, 1_000, { source });
    expect([Math.floor(stats.evaluationMs), stats.sortMs > 0 && stats.sortMs < 1, now]).toEqual([20, true, 520]);
  }
});

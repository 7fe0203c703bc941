import { silentLogger } from '../../base/logger.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';
import { openStore, type Store } from '../../tsdb/index.ts';
import type { MetricData } from '../otlp/model.ts';
import type { SampleSink } from './hand-out.ts';
import { SeriesMapper } from './mapper.ts';
import { defaultPolicy } from './policy.ts';

/** Counters of an instrument that goes on while its agent restarts. Their servers' names are labels of no series. */
const t0 = 1_800_000_000_000;
let store: Store;
beforeEach(async () => {
  store = await openStore({ dir: '/s', files: new MemoryFiles(), clock: new FakeClock(t0), logger: silentLogger });
});
afterEach(() => store.close());

/**
 * An agent over the store. Times are seconds after `t0`; the counters started an hour before. The instrument exports in
 * the given interval, in seconds.
 */
class Agent {
  readonly #mapper: SeriesMapper;
  #stored: string[] = [];
  readonly #sink: SampleSink = {
    append: (series, tMs, value) => {
      expect(store.append(series, tMs, value)).toBe('appended');
      const { __name__: name, le } = Object.fromEntries(series.labels);
      this.#stored.push(`${name}${le === undefined ? '' : ` ${le}`}: ${value}`);
    },
    stale: (series, tMs) => void store.appendStale(series, tMs),
    start: (series, startMs) => void (store.appendStart(series, startMs) && this.#stored.push('zero')),
    stored: (series, sinceMs) => store.newestValue(series, sinceMs),
  };

  constructor(interval = 10) {
    this.#mapper = new SeriesMapper({ ...defaultPolicy('n'), exportIntervalMs: interval * 1_000 });
  }

  /**
   * Takes a request with a counter of each server, or with a histogram of as many values of that mean, all beyond its
   * bound for the servers in `slow`. Returns what is stored.
   */
  send(
    seconds: number,
    values: Record<string, number>,
    { start = -3_600, histogram = false, slow = '', mean = 2 } = {},
  ): string[] {
    const now = { wall: t0 + seconds * 1_000, mono: seconds * 1_000 };
    const points = Object.entries(values).map(([server, value]) => ({
      attributes: [{ key: 'server.address', value: server }],
      ...{ startNs: (t0 + start * 1_000) * 1e6, timeNs: now.wall * 1e6, noValue: false, exemplars: [], value },
      ...{ count: value, sum: mean * value, min: null, max: null, bounds: [1] },
      bucketCounts: slow.includes(server) ? [0, value] : [value, 0],
    }));
    const data: MetricData = histogram
      ? { kind: 'histogram', temporality: 'cumulative', points }
      : { kind: 'sum', temporality: 'cumulative', monotonic: true, points };
    const metrics = [{ name: 'c', description: '', unit: '', data }];
    this.#stored = [];
    this.#mapper.add(
      { resources: [{ attributes: [], scopes: [{ scope: { name: '', version: '' }, metrics }] }] },
      now,
      this.#sink,
    );
    this.#mapper.flush(this.#sink);
    return this.#stored;
  }

  expire(seconds: number): void {
    this.#mapper.expire({ wall: t0 + seconds * 1_000, mono: seconds * 1_000 }, this.#sink);
  }

  /** A new policy, also with the default interval of 10 s. */
  setDropLabels(seconds: number, ...labels: readonly string[]): void {
    const policy = { ...defaultPolicy('n'), dropLabels: new Set(labels) };
    this.#mapper.setPolicy(policy, { wall: t0 + seconds * 1_000, mono: seconds * 1_000 }, this.#sink);
  }
}

test('a sum that counters have contributed to that have ended goes on from its stored value', () => {
  const before = new Agent();
  expect(before.send(0, { a: 100, b: 10 })).toEqual(['c: 110']);
  for (let s = 10; s <= 100; s += 10) before.send(s, { a: 100 });
  before.expire(100);
  expect(before.send(110, { a: 100 })).toEqual(['c: 110']);
  const after = new Agent();
  expect(after.send(120, { a: 101 })).toEqual(['c: 110']);
  expect(after.send(130, { a: 105 })).toEqual(['c: 114']);
  expect(after.send(140, { a: 2 }, { start: 135 })).toEqual(['c: 116']);
  expect(new Agent().send(150, { a: 3 }, { start: 135 })).toEqual(['c: 116']);
});

test('the counters of a sum may come in several requests: their past is not counted again', () => {
  new Agent().send(0, { a: 100, b: 10 });
  const after = new Agent();
  expect(after.send(10, { a: 103 })).toEqual(['c: 110']);
  expect(after.send(11, { b: 12 })).toEqual(['c: 110']);
  expect(after.send(20, { a: 104, b: 13 })).toEqual(['c: 112']);
});

test('a sum whose counters all go on in one request misses nothing', () => {
  new Agent().send(0, { a: 100, b: 10 });
  expect(new Agent().send(10, { a: 103, b: 11 })).toEqual(['c: 114']);
});

test('a sum does not go on from a stored value beside which an increase of 1 would be lost', () => {
  expect(new Agent().send(0, { b: 1e20 })).toEqual(['c: 100000000000000000000']);
  const after = new Agent();
  expect(after.send(10, { a: 7 })).toEqual(['c: 7']);
  expect(after.send(20, { a: 9 })).toEqual(['c: 9']);
});

test('a sum beyond the largest value that is added to others goes on while an increase of 1 counts beside it', () => {
  expect(new Agent().send(0, { a: 9e14, b: 9e14 })).toEqual(['c: 1800000000000000']);
  const after = new Agent();
  expect(after.send(10, { a: 9e14 + 1 })).toEqual(['c: 1800000000000000']);
  expect(after.send(20, { a: 9e14 + 2 })).toEqual(['c: 1800000000000001']);
});

test.each([1e90, -1e90])(
  'the sum of a histogram whose stored one is %d counts anew, where its counts go on',
  (mean) => {
    new Agent().send(0, { b: 10 }, { histogram: true, mean });
    const after = new Agent();
    const values = (n: number, sum: number): string[] => [
      ...[`c_bucket 1: ${n}`, `c_bucket +Inf: ${n}`, `c_count: ${n}`, `c_sum: ${sum}`],
    ];
    expect(after.send(10, { a: 7 }, { histogram: true })).toEqual(values(10, 14));
    expect(after.send(20, { a: 9 }, { histogram: true }).toSorted()).toEqual(values(12, 18).toSorted());
  },
);

test('a counter that is new since the restart counts in full', () => {
  new Agent().send(0, { a: 100, b: 10 });
  const after = new Agent();
  after.send(10, { a: 101 });
  expect(after.send(20, { c: 5 }, { start: 15 })).toEqual(['c: 115']);
  // The counters of an instrument all have the start of the instrument, also one that it makes only now.
  expect(after.send(75, { d: 7 })).toEqual(['c: 122']);
});

test('counters that restarted together with the agent are a reset', () => {
  new Agent().send(0, { a: 100, b: 10 });
  const after = new Agent();
  expect(after.send(10, { a: 4, b: 5 }, { start: 5 })).toEqual(['c: 9']);
  expect(after.send(11, { c: 1 }, { start: 5 })).toEqual(['c: 10']);
});

test('a counter of its own goes on with its raw values, and has a zero after a restart', () => {
  new Agent().send(0, { a: 41 });
  expect(new Agent().send(10, { a: 43 })).toEqual(['c: 43']);
  expect(new Agent().send(20, { a: 50 }, { start: 15 })).toEqual(['zero', 'c: 50']);
});

test('a sum of histograms goes on in all of its series', () => {
  const before = new Agent();
  const values = (n: number): string[] => [
    `c_bucket 1: ${n}`,
    `c_bucket +Inf: ${n}`,
    `c_count: ${n}`,
    `c_sum: ${2 * n}`,
  ];
  expect(before.send(0, { a: 100, b: 10 }, { histogram: true })).toEqual(values(110));
  const after = new Agent();
  expect(after.send(10, { a: 101 }, { histogram: true })).toEqual(values(110));
  expect(after.send(20, { a: 103 }, { histogram: true })).toEqual(values(112));
});

test('all buckets of a histogram go on when one of them shows a counter that has ended', () => {
  const before = new Agent();
  const all = { histogram: true, slow: 'b' };
  before.send(0, { a: 100, b: 10 }, all);
  const after = new Agent();
  // Only the bucket of both shows it: 100 of `a` alone would have become 105.
  expect(after.send(10, { a: 105 }, all)).toEqual([
    'c_bucket 1: 100',
    'c_bucket +Inf: 110',
    'c_count: 110',
    'c_sum: 220',
  ]);
  expect(after.send(20, { a: 106 }, all)).toEqual([
    'c_bucket 1: 101',
    'c_bucket +Inf: 111',
    'c_count: 111',
    'c_sum: 222',
  ]);
});

test('the sum of a histogram of negative values falls, which is no reason to go on from the stored values', () => {
  const negative = { histogram: true, mean: -2 };
  new Agent().send(0, { a: 10 }, negative);
  const now = ['c_bucket 1: 12', 'c_bucket +Inf: 12', 'c_count: 12', 'c_sum: -24'];
  expect(new Agent().send(10, { a: 12 }, negative)).toEqual(now);
});

test('a sum goes on also where a config or a pod that comes after the restart leads its counters to it', () => {
  new Agent().send(0, { a: 100, b: 10 });
  const after = new Agent();
  after.setDropLabels(5);
  expect(after.send(10, { a: 101 })).toEqual(['c: 101']);
  after.setDropLabels(15, 'server_address');
  expect(after.send(20, { a: 105 })).toEqual(['c: 110']);
  expect(after.send(21, { b: 12 })).toEqual(['c: 110']);
});

test('a sum whose counters come only every few minutes goes on between two exports', () => {
  new Agent(120).send(0, { a: 100, b: 100 });
  const after = new Agent(120);
  expect(after.send(10, { a: 101, b: 101 })).toEqual(['c: 202']);
  after.expire(80);
  expect(after.send(130, { a: 103, b: 103 })).toEqual(['c: 206']);
});

test('a sum whose counters come less often than a query looks back goes on, also where one export is late', () => {
  const agent = new Agent(600);
  expect(agent.send(0, { a: 100, b: 100 })).toEqual(['c: 200']);
  for (const at of [600, 1_250, 1_800]) {
    agent.expire(at - 10);
    expect(agent.send(at, { a: 100, b: 100 + at })).toEqual([`c: ${200 + at}`]);
  }
});

test('counters do not end while the instrument does not run the shorter interval of a new policy yet', () => {
  const agent = new Agent(600);
  agent.send(0, { a: 100, b: 10 });
  agent.send(600, { a: 101, b: 10 });
  agent.setDropLabels(610, 'server_address');
  for (const s of [1_000, 1_199]) agent.expire(s);
  expect(agent.send(1_200, { a: 103, b: 11 })).toEqual(['c: 114']);
  for (const s of [1_500, 1_799]) agent.expire(s);
  expect(agent.send(1_800, { a: 104, b: 11 })).toEqual(['c: 115']);
});

test('a counter that comes only in the second export after a restart is not counted again', () => {
  new Agent(120).send(0, { a: 100, b: 10 });
  const after = new Agent(120);
  expect(after.send(10, { a: 103 })).toEqual(['c: 110']);
  expect(after.send(130, { b: 12 })).toEqual(['c: 110']);
});

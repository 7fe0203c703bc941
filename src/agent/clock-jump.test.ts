import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger, silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { openStore, type Store } from '../tsdb/index.ts';
import { Ingest } from './ingest/ingest.ts';
import { SeriesMapper } from './mapping/mapper.ts';
import { defaultPolicy } from './mapping/policy.ts';
import { createSelfMetrics } from './self-metrics.ts';

/** An agent's ingest into a real store, on a node whose wall clock jumps. The sender reads the same clock. */
let dir: string;
let clock: FakeClock;
let store: Store;
let ingest: Ingest;
let log: string[];
let mapper: SeriesMapper;
let value = 0;
const metrics = createSelfMetrics({ node: 'n1', version: '1' });

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'clock-jump-'));
  clock = new FakeClock();
  log = [];
  store = await openStore({ dir, clock, logger: silentLogger });
  const logger = createLogger({ write: (line) => void log.push(line) });
  const spans = { take: () => 0, expire: () => {} };
  mapper = new SeriesMapper(defaultPolicy('n1'));
  ingest = new Ingest({ mapper, store, metrics, clock, logger, spans });
});
afterEach(async () => {
  await ingest.close();
  await store.close();
  rmSync(dir, { recursive: true });
});

/** Sends reports of the counter, one every ten seconds; `times` is their number. */
async function report(times: number, startNs = 1e18): Promise<void> {
  for (let i = 0; i < times; i++) {
    await clock.advance(10_000);
    const point = { attributes: [], startNs, timeNs: clock.now() * 1e6, noValue: false, value: ++value };
    const data = { kind: 'sum', temporality: 'cumulative', monotonic: true, points: [{ ...point, exemplars: [] }] };
    const metric = { name: 'orders', description: '', unit: '', data } as const;
    const scopes = [{ scope: { name: '', version: '' }, metrics: [metric] }];
    ingest.metrics({ resources: [{ attributes: [], scopes }] } as never, 100);
    await ingest.process();
  }
}

const newest = (): number | undefined =>
  store.latest([{ type: '=', name: '__name__', value: 'orders' }], 0).find((s) => !s.stale)?.value;

/** The value of the counter in a scrape. */
const shown = (): number | undefined =>
  [...(mapper.table.families.get('orders')?.groups.values() ?? [])][0]?.series[0]?.total;

/** The stored values of the counter by time, each as the hex of its eight bytes. */
const reports = (): Map<number, string> =>
  [...readSamples(store, [{ type: '=', name: '__name__', value: 'orders' }]).values()][0]!;

test('a clock set an hour forward: samples go on at the new time', async () => {
  const from = clock.now();
  await report(3);
  clock.jumpWall(3_600_000);
  await report(3);
  expect(newest()).toBe(value);
  const seconds = [...reports().keys()].map((ms) => (ms - from) / 1_000);
  expect(seconds).toEqual([10, 20, 30, 3_640, 3_650, 3_660]);
  expect(log.join()).toContain('the clock was set');
});

test('a clock that runs two days ahead for a while deletes nothing, also when the agent starts meanwhile', async () => {
  await report(3);
  const stored = reports();
  expect(stored.size).toBe(3);
  const old = (): (readonly [number, string])[] => [...reports()].slice(0, 3);
  clock.jumpWall(48 * 3_600_000);
  await report(3);
  await store.maintain();
  expect(old()).toEqual([...stored]);
  await store.close();
  store = await openStore({ dir, clock, logger: silentLogger });
  await store.maintain();
  clock.jumpWall(-48 * 3_600_000);
  await store.maintain();
  expect(old()).toEqual([...stored]);
});

test('a clock set an hour back: nothing is overwritten, and samples go on when it has caught up', async () => {
  await report(3);
  const before = newest();
  const stored = reports();
  expect(stored.size).toBe(3);
  clock.jumpWall(-3_600_000);
  await report(3);
  expect(newest()).toBe(before);
  expect(log.join()).toContain('the clock was set');
  clock.jumpWall(3_600_000);
  await report(2);
  expect(newest()).toBe(value);
  expect([...reports()].slice(0, 3)).toEqual([...stored]);
});

test('a clock set back by a minute costs that minute, not the series', async () => {
  await report(3);
  clock.jumpWall(-60_000);
  await report(12);
  expect(newest()).toBe(value);
  // Six of the fifteen reports were sent at or before the time of a sample that was stored already.
  expect(reports().size).toBeGreaterThanOrEqual(9);
});

test('while a clock that was set back catches up, a scrape shows new counts, and none of them is stored', async () => {
  await report(3);
  const stored = reports();
  clock.jumpWall(-600_000);
  await report(30);
  expect({ shown: shown(), stored: reports() }).toEqual({ shown: value, stored });
  await report(31);
  expect({ shown: shown(), newest: newest() }).toEqual({ shown: value, newest: value });
});

test('a counter that restarts while the clock catches up shows a reset, even when it has passed its old value', async () => {
  value = 100;
  await report(3);
  const before = value;
  clock.jumpWall(-600_000);
  value = 0;
  await report(30, 1.5e18);
  expect(shown()).toBe(30);
  value = before;
  await report(31, 1.5e18);
  const stored = [...reports().values()].map((hex) => Buffer.from(hex, 'hex').readDoubleBE());
  expect(stored.slice(0, 5)).toEqual([101, 102, 103, 0, expect.any(Number)]);
  expect(stored.at(-1)).toBe(value);
});

import fc from 'fast-check';
import type { Clock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { rangeStart } from './block-range.ts';
import { labelsFromObject, openStore } from './index.ts';
import type { MatcherSets, Selection, Store } from './index.ts';

/**
 * Reads after every step of maintenance, which cuts and merges blocks, and deletes them by retention. A read finds each
 * sample exactly once, and retention deletes the whole time range of a block.
 */

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const step = 7 * 60_000;
const names = ['a', 'b', 'c'].map((s) => labelsFromObject({ __name__: 'm', s }));

/** What happens to one store from its opening to its end. */
interface Life {
  /** How long samples are appended. Units: hours. */
  readonly hours: number;
  /** The retention in the first half of that time, and in the second. Units: hours. */
  readonly kept: readonly [number, number];
  /** Interval between two maintenance runs. Units: hours. */
  readonly every: number;
  /** Number of reads between two openings of a selection. Each stays open for as many reads, then is read itself. */
  readonly held: number;
}

const lives: fc.Arbitrary<Life> = fc.record({
  hours: fc.integer({ min: 8, max: 50 }),
  kept: fc.tuple(fc.integer({ min: 3, max: 40 }), fc.integer({ min: 3, max: 40 })),
  every: fc.integer({ min: 1, max: 9 }),
  held: fc.integer({ min: 1, max: 40 }),
});

/** Each series' times, oldest first, as text. */
const textOf = (store: Pick<Store, 'select'>): string => JSON.stringify(timesOf(store));
const timesOf = (store: Pick<Store, 'select'>): number[][] =>
  [...readSamples(store as Store).values()].map((byTime) => [...byTime.keys()]);

/**
 * Runs one life. Returns how often it read, the most blocks at once, and the deleted time range. Unit of `gone`: ms.
 */
async function live({ hours, kept, every, held }: Life): Promise<{ turns: number; blocks: number; gone: number }> {
  // Its timers never fire: the test itself calls for maintenance.
  let now = start;
  const clock: Clock = { now: () => now, monotonic: () => now - start, setTimeout: () => () => {} };
  const store = await openStore({
    ...{ dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger },
    retentionMs: kept[0] * hour,
  });
  const appended: number[] = [];
  const open: { selection: Selection; text: string; until: number }[] = [];
  let [turns, blocks, oldest, keptMs] = [0, 0, start, kept[0] * hour];

  const look = (): void => {
    turns++;
    const times = timesOf(store);
    const first = Math.min(...times.map((own) => own[0]!));
    expect(times).toEqual(names.map(() => appended.filter((t) => t >= first)));
    // Samples are deleted with all of their block, no deleted one comes back, and none is kept too long.
    if (first > start) expect(first - step).toBeLessThan(rangeStart(first));
    expect(first).toBeGreaterThanOrEqual(oldest);
    expect(first).toBeLessThan(Math.max(start, now - keptMs) + step);
    oldest = first;
    blocks = Math.max(blocks, store.stats().blocks);
    if (turns % held === 0) {
      const text = JSON.stringify(times);
      open.push({ selection: store.hold([], -Infinity, Infinity), text, until: turns + held });
    }
    while (open[0] && open[0].until <= turns) readOldest();
  };
  /** A held selection shows the samples of the moment when it was opened, whatever was moved or deleted since. */
  const readOldest = (): void => {
    const { selection, text } = open.shift()!;
    expect(textOf({ select: () => selection })).toBe(text);
    selection.close();
  };

  for (let k = 0; k * step < hours * hour; k++) {
    const t = start + k * step;
    now = t;
    for (const labels of names) store.append(labels, t, k);
    appended.push(t);
    if (t - start >= (hours * hour) / 2 && keptMs !== kept[1] * hour) {
      // Deleted samples stay deleted: a longer retention only keeps the samples that are there.
      store.setRetention({ ms: (keptMs = Math.min(keptMs, kept[1] * hour)), bytes: Infinity });
    }
    if (k % Math.round((every * hour) / step) !== 0) continue;
    let done = false;
    const upkeep = store.maintain().finally(() => (done = true));
    for (let turn = 0; !done; turn++) {
      look();
      await (turn % 50 === 49 ? new Promise<void>((resolve) => setImmediate(resolve)) : undefined);
    }
    await upkeep;
  }
  look();
  while (open.length > 0) readOldest();
  await store.close();
  return { turns, blocks, gone: oldest - start };
}

test('a read during a cut, a merge or retention finds each sample once, and an open selection is stable', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (life) => void (await live(life))),
    { numRuns: 8 },
  );
}, 120_000);

test('in a long life the store is read many times, also with several blocks and after deletions', async () => {
  const { turns, blocks, gone } = await live({ hours: 50, kept: [24, 12], every: 3, held: 7 });
  expect(turns).toBeGreaterThan(500);
  expect(blocks).toBeGreaterThan(3);
  expect(gone).toBeGreaterThan(24 * hour);
});

test('a list that begins at any step of a cut, a merge or retention has all series that stay', async () => {
  let now = start;
  const clock: Clock = { now: () => now, monotonic: () => now - start, setTimeout: () => () => {} };
  const options = { dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, retentionMs: 24 * hour };
  const store = await openStore(options);
  // Each hour has a series of its own. Several selectors match it.
  const hourOf = (t: number): string => String(Math.floor((t - start) / hour));
  const found = (): string[] => [...store.select([], -Infinity, Infinity)].map(({ labels }) => labels[0]![1]);
  const selectors: MatcherSets = [
    [{ type: '=', name: 'hour', value: 'none' }],
    [{ type: '=~', name: 'hour', value: '(1|[02-9])*' }],
    [],
  ];
  const listed = { lists: 0, moved: 0, retired: 0 };
  for (let k = 0; k * step < 50 * hour; k++) {
    now = start + k * step;
    store.append(labelsFromObject({ hour: hourOf(now) }), now, k);
    if (k % 26 !== 25) continue;
    const lists: Promise<{ before: string[]; got: string[] }>[] = [];
    const [blocks, first] = [store.stats().blocks, found()];
    let done = false;
    const upkeep = store.maintain().finally(() => (done = true));
    for (let turn = 0; !done; turn++) {
      const before = found();
      const series = store.series(selectors, -Infinity, Infinity).then((all) => all.map((labels) => labels[0]![1]));
      const values = store.labelValues('hour', selectors, -Infinity, Infinity);
      for (const list of [series, values]) lists.push(list.then((got) => ({ before, got })));
      await (turn % 50 === 49 ? new Promise<void>((resolve) => setImmediate(resolve)) : undefined);
    }
    await upkeep;
    for (const { before, got } of await Promise.all(lists)) {
      expect(before).toEqual(expect.arrayContaining(got));
      expect(got).toEqual(expect.arrayContaining(found()));
    }
    listed.lists += lists.length;
    if (store.stats().blocks !== blocks) listed.moved++;
    if (found().length < first.length) listed.retired++;
  }
  await store.close();
  expect(options.files.unclosedReads.size).toBe(0);
  expect(listed.lists).toBeGreaterThan(1_000);
  expect(Math.min(listed.moved, listed.retired)).toBeGreaterThan(2);
}, 120_000);

test('a retention that comes during an upkeep ends its merges, and one more upkeep applies it', async () => {
  let now = start;
  const clock: Clock = { now: () => now, monotonic: () => now - start, setTimeout: () => () => {} };
  const options = { dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, retentionMs: 23 * hour };
  const store = await openStore(options);
  for (; now < start + 13 * hour; now += step) store.append(names[0]!, now, now);
  await store.maintain();
  expect(store.stats()).toMatchObject({ blocks: 6, oldestMs: start });
  store.setRetention({ ms: 30 * hour, bytes: Infinity });
  const running = store.maintain();
  while (store.stats().blocks === 6) await Promise.resolve();
  expect(store.stats()).toMatchObject({ blocks: 4, oldestMs: start });
  store.setRetention({ ms: 5 * hour, bytes: Infinity });
  const next = store.maintain();
  expect(store.maintain()).toBe(next);
  await running;
  expect(store.stats().blocks).toBe(4);
  await next;
  expect(store.stats()).toMatchObject({ blocks: 2 });
  expect(store.stats().oldestMs).toBeGreaterThanOrEqual(start + 8 * hour);
  await store.close();
});

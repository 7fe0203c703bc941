import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { collectGarbage } from '../testing/heap.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { labelsFromObject, labelsToObject, openStore, SampleBuffer } from './index.ts';
import type { Labels, Matcher, SelectedSeries, SeriesRef, Store, StoreOptions } from './index.ts';

const start = Date.UTC(2026, 0, 1, 0, 0, 0);
const hour = 3_600_000;
const up = labelsFromObject({ __name__: 'up', job: 'a' });

async function open(files: MemoryFiles, clock: FakeClock, extra: Partial<StoreOptions> = {}): Promise<Store> {
  return openStore({ dir: '/s', files, clock, logger: silentLogger, ...extra });
}

/** Appends samples every 30 s from `from` until `to`, and advances the clock with them. */
async function fill(
  store: Store,
  clock: FakeClock,
  series: readonly Labels[],
  from: number,
  to: number,
): Promise<void> {
  for (let t = from; t < to; t += 30_000) {
    await clock.advance(Math.max(0, t - clock.now()));
    for (const [i, labels] of series.entries()) store.append(labels, t, t / 30_000 + i);
  }
  await store.commit();
}

describe('appending', () => {
  test('samples are readable immediately, and get the external labels that their series lacks', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start), {
      externalLabels: labelsFromObject({ k8s_node_name: 'node-1' }),
    });
    expect(store.append(up, start, 1)).toBe('appended');
    expect(store.append(labelsFromObject({ __name__: 'up', k8s_node_name: 'other' }), start, 2)).toBe('appended');
    const found = [...store.select([{ type: '=', name: '__name__', value: 'up' }], start, start)];
    expect(found.map((s) => labelsToObject(s.labels))).toEqual([
      { __name__: 'up', job: 'a', k8s_node_name: 'node-1' },
      { __name__: 'up', k8s_node_name: 'other' },
    ]);
    expect([...store.select([{ type: '=', name: 'k8s_node_name', value: 'node-1' }], start, start)]).toHaveLength(1);
    await store.close();
  });

  test('a late sample within the window is inserted in order; an older one is refused and counted', async () => {
    const clock = new FakeClock(start + hour);
    const store = await open(new MemoryFiles(), clock);
    for (const s of [0, 60, 120, 600]) expect(store.append(up, start + s * 1000, s)).toBe('appended');
    expect(store.append(up, start + 300_000, 300)).toBe('appended');
    expect(store.append(up, start + 299_000, 299)).toBe('late');
    expect([...readSamples(store).values()][0]!.size).toBe(5);
    expect([...[...readSamples(store).values()][0]!.keys()].map((t) => (t - start) / 1000)).toEqual([
      0, 60, 120, 300, 600,
    ]);
    expect(store.stats().rejected.late).toBe(1);
    await store.close();
  });

  test('a second sample at the same time is a duplicate if its bits are equal, otherwise a conflict', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    store.append(up, start - 1000, 1);
    store.append(up, start, 2);
    expect(store.append(up, start, 2)).toBe('duplicate');
    expect(store.append(up, start, 3)).toBe('conflict');
    expect(store.append(up, start - 1000, 9)).toBe('conflict');
    expect(store.append(up, start - 1000, 1)).toBe('duplicate');
    expect(store.latest([], 0)).toMatchObject([{ tMs: start, value: 2 }]);
    await store.close();
  });

  test('a sample far ahead of the clock is refused: after it, correct samples would be too late', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    expect(store.append(up, start + 2 * hour, 1)).toBe('tooNew');
    expect(store.append(up, start, 1)).toBe('appended');
    await store.close();
  });

  test('a counter that started after its newest sample gets a zero at its start, even after a crash', async () => {
    const files = new MemoryFiles();
    let store = await open(files, new FakeClock(start));
    store.append(up, start, 40);
    await store.commit();
    files.crash();
    store = await open(files, new FakeClock(start));
    expect(store.appendStart(up, start + 8_000)).toBe(true);
    store.append(up, start + 11_000, 40);
    expect([...readSamples(store).values()]).toEqual([
      new Map([
        [start, '4044000000000000'],
        [start + 8_000, '0000000000000000'],
        [start + 11_000, '4044000000000000'],
      ]),
    ]);
    await store.close();
  });

  test('the newest value of a series is known if it is not too old, and the series has not ended', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    expect(store.newestValue(up, start)).toBeNaN();
    store.append(up, start, 40);
    store.append(up, start + 1_000, 41);
    expect(store.newestValue(up, start + 1_000)).toBe(41);
    expect(store.newestValue(up, start + 1_001)).toBeNaN();
    store.appendStale(up, start + 2_000);
    expect(store.newestValue(up, start)).toBeNaN();
    await store.close();
    expect(store.newestValue(up, start)).toBeNaN();
  });

  test('no zero is added to a counter that has no sample, has one since its start, or was last 0', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    expect(store.appendStart(up, start)).toBe(false);
    store.append(up, start, 40);
    expect(store.appendStart(up, start)).toBe(false);
    expect(store.appendStart(up, start - 5_000)).toBe(false);
    store.append(up, start + 1_000, 0);
    expect(store.appendStart(up, start + 2_000)).toBe(false);
    store.appendStale(up, start + 3_000);
    expect(store.appendStart(up, start + 4_000)).toBe(true);
    expect(store.appendStart(up, start + 2 * hour)).toBe(false);
    expect(store.latest([], 0)).toMatchObject([{ tMs: start + 4_000, value: 0 }]);
    // Refused starts are not counted: an agent that starts after its instrument gets an old start for every series.
    expect(store.appendStart(up, start - 24 * hour)).toBe(false);
    expect(store.stats()).toMatchObject({ duplicates: 0, rejected: { late: 0, tooNew: 0 } });
    await store.close();
  });

  test('the store lets go of the ref of a series that ended, and takes it again', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    let ref: SeriesRef | undefined = { labels: up, slot: -1 };
    const held = new WeakRef(ref);
    store.append(ref, start, 1);
    store.appendStale(ref, start + 1_000);
    store.append(ref, start + 2_000, 2);
    store.appendStale(ref, start + 3_000);
    expect([...readSamples(store).values()].map(({ size }) => size)).toEqual([4]);
    ref = undefined;
    await collectGarbage();
    expect(held.deref()).toBeUndefined();
    await store.close();
  });

  test('a stale marker keeps its exact bits through the log, a checkpoint and a block', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    let store = await open(files, clock);
    store.append(up, start, 1);
    store.appendStale(up, start + 30_000);
    expect(store.latest([], 0)).toMatchObject([{ stale: true }]);
    await store.commit();
    const expected = new Map([
      [start, '3ff0000000000000'],
      [start + 30_000, '7ff0000000000002'],
    ]);
    files.crash();
    store = await open(files, clock);
    expect(store.stats().walBytes).toBeGreaterThan(0);
    expect([...readSamples(store).values()]).toEqual([expected]);
    // Enough other samples for the close to leave a checkpoint.
    for (let i = 0; i < 12_000; i++) store.append(labelsFromObject({ i: String(i).padStart(100, '.') }), start, i);
    await store.close();
    store = await open(files, clock);
    expect(store.stats().walBytes).toBe(0);
    const one: Matcher[] = [{ type: '=', name: 'job', value: 'a' }];
    expect([...readSamples(store, one).values()]).toEqual([expected]);
    await clock.advance(4 * hour);
    await store.maintain();
    expect(store.stats()).toMatchObject({ blocks: 1, series: 0, newestMs: start + 30_000 });
    expect([...readSamples(store, one).values()]).toEqual([expected]);
    await store.close();
  });

  test('the refusal of labels that are not sorted, or not well-formed, names the label', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    expect(() =>
      store.append(
        [
          ['b', '1'],
          ['a', '2'],
        ],
        start,
        1,
      ),
    ).toThrow(/"a": names are not sorted/);
    expect(() => store.append([['a', '\ud800']], start, 1)).toThrow(/"a": not well-formed/);
    await store.close();
  });
});

describe('blocks and retention', () => {
  test('finished ranges move into blocks, the log shrinks, and every sample is still there after a restart', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    const series = Array.from({ length: 20 }, (_, i) => labelsFromObject({ __name__: 'm', i: String(i) }));
    let store = await open(files, clock);
    await fill(store, clock, series, start, start + hour);
    const { walBytes } = store.stats();
    await fill(store, clock, series, start + hour, start + 7 * hour + 60_000);
    const before = readSamples(store);
    expect([...before.values()].map(({ size }) => size)).toEqual(Array(20).fill(842));
    await store.maintain();
    expect(store.stats().walBytes).toBeLessThan(walBytes / 2);
    expect(readSamples(store)).toEqual(before);
    await store.close();
    store = await open(files, clock);
    expect(readSamples(store)).toEqual(before);
    expect(store.stats()).toMatchObject({ blocks: 1, series: 20, replay: { orphanSamples: 0, cutBytes: 0 } });
    expect(store.append(series[0]!, start + 5 * hour, 1)).toBe('late');
    const part = readSamples(store, [{ type: '=~', name: 'i', value: '3|1.' }], start + hour, start + hour + 60_000);
    expect(part.size).toBe(11);
    await store.close();
  });

  test('a pattern that has an alternative twice finds its series once, in a block as in the head', async () => {
    const clock = new FakeClock(start);
    const store = await open(new MemoryFiles(), clock);
    const series = ['0', '1', '2'].map((i) => labelsFromObject({ __name__: 'm', i }));
    await fill(store, clock, series, start, start + 7 * hour + 60_000);
    await store.maintain();
    expect(store.stats()).toMatchObject({ blocks: 1, series: 3 });
    const matchers: Matcher[] = [{ type: '=~', name: 'i', value: '0|1|0|1' }];
    for (const [from, to] of [
      [start, start + hour],
      [start + 7 * hour, start + 8 * hour],
    ] as const) {
      expect([...store.select(matchers, from, to)].map(({ labels }) => labelsToObject(labels)['i'])).toEqual([
        '0',
        '1',
      ]);
      expect(await store.series([matchers], from, to)).toHaveLength(2);
    }
    await store.close();
  });

  test('blocks older than the retention are removed, and so are the oldest above the size cap', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    const store = await open(files, clock, { retentionMs: 6 * hour });
    await fill(store, clock, [up], start, start + 11 * hour + 60_000);
    await store.maintain();
    expect(store.stats()).toMatchObject({ blocks: 3, oldestMs: start + 4 * hour });
    const { blockBytes } = store.stats();
    await store.close();
    const fitting = await open(files, clock, { retentionBytes: blockBytes - 1 });
    await fitting.maintain();
    expect(fitting.stats()).toMatchObject({ blocks: 2, oldestMs: start + 6 * hour });
    await fitting.close();
    const capped = await open(files, clock, { retentionBytes: 1 });
    await capped.maintain();
    expect(capped.stats().blocks).toBe(0);
    expect(files.paths().filter((p) => p.includes('/blocks/'))).toEqual([]);
    await capped.close();
  });

  test('a clock that is two days ahead for less than an hour deletes nothing; after an hour it counts', async () => {
    const clock = new FakeClock(start);
    const store = await open(new MemoryFiles(), clock);
    await fill(store, clock, [up], start, start + 5 * hour);
    expect(store.stats().blocks).toBe(1);
    clock.jumpWall(48 * hour);
    await clock.advance(hour - 60_000);
    // The samples in memory are in blocks now, too.
    expect(store.stats()).toMatchObject({ series: 0, oldestMs: start });
    await clock.advance(2 * 60_000);
    expect(store.stats().blocks).toBe(0);
    await store.close();
  });

  test('each large step of the clock has to last for an hour of its own', async () => {
    const clock = new FakeClock(start);
    const store = await open(new MemoryFiles(), clock);
    await fill(store, clock, [up], start, start + 5 * hour);
    for (let i = 0; i < 4; i++) {
      clock.jumpWall(24 * hour);
      await clock.advance(hour / 2);
      expect(store.stats().oldestMs).toBe(start);
    }
    await store.close();
  });

  test('a store that gets no samples any more keeps them for the retention, whatever was before it was opened', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    const options = { retentionMs: 12 * hour };
    let store = await open(files, clock, options);
    await fill(store, clock, [up], start, start + 5 * hour);
    await store.close();
    clock.jumpWall(5 * hour);
    store = await open(files, clock, options);
    store.setRetention({ ms: 2 * hour, bytes: Infinity });
    await store.maintain();
    // What is older than the retention already at the time of the newest sample goes at once, the rest after an hour.
    expect(store.stats().oldestMs).toBe(start + 2 * hour);
    await clock.advance(hour + 60_000);
    expect(store.stats()).toMatchObject({ blocks: 0, series: 0 });
    await store.close();
  });

  test('a reader keeps its view while blocks are written and dropped and samples are appended', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    const store = await open(files, clock, { retentionMs: hour });
    await fill(store, clock, [up], start, start + 4 * hour);
    const before = readSamples(store);
    const reading = store.select([], -Infinity, Infinity)[Symbol.iterator]();
    const series = reading.next().value as SelectedSeries;
    await fill(store, clock, [up], start + 4 * hour, start + 20 * hour);
    await store.maintain();
    const count = series.chunks().reduce((sum, c) => sum + c.count, 0);
    expect(count).toBe([...before.values()][0]!.size);
    reading.return?.();
    expect(() => series.chunks()).toThrow(/before it ends/);
    const held = store.hold([], -Infinity, Infinity);
    const [ofBlocks] = held;
    held.close();
    held.close();
    expect(() => ofBlocks!.decode(-Infinity, new SampleBuffer())).toThrow(/before it ends/);
    expect(store.stats().quarantinedBlocks).toBe(0);
    await store.close();
  });

  test('a block with a flipped bit in its index is quarantined, and the rest is served', async () => {
    const files = new MemoryFiles();
    const clock = new FakeClock(start);
    let store = await open(files, clock);
    await fill(store, clock, [up], start, start + 5 * hour + 60_000);
    await store.maintain();
    await store.close();
    const [first, second] = files.paths().filter((p) => p.includes('/blocks/'));
    files.flip(first!, files.bytesOf(first!).length - 60);
    store = await open(files, clock);
    expect(store.stats().blocks).toBe(1);
    expect([...[...readSamples(store).values()][0]!.keys()][0]).toBe(start + 2 * hour);
    expect(files.paths().some((p) => p.includes('/quarantine/'))).toBe(true);
    files.flip(second!, 20);
    expect(() => readSamples(store)).toThrow(/checksum/);
    expect(store.stats()).toMatchObject({ blocks: 0, quarantinedBlocks: 2 });
    expect(readSamples(store).size).toBe(1);
    await store.close();
    expect(files.paths().filter((p) => p.includes('/blocks/'))).toEqual([]);
  });
});

describe('finding series', () => {
  test('every type of matcher finds the same series as a scan of all', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    const all: Record<string, string>[] = [];
    for (const method of ['GET', 'POST', 'PUT']) {
      for (const code of ['', '200', '404', '500']) all.push({ __name__: 'http', method, code });
    }
    for (const labels of all) store.append(labelsFromObject(labels), start, 1);
    const cases: [type: '=' | '!=' | '=~' | '!~', value: string, keep: (v: string) => boolean][] = [
      ['=', '200', (v) => v === '200'],
      ['=', '', (v) => v === ''],
      ['!=', '200', (v) => v !== '200'],
      ['!=', '', (v) => v !== ''],
      ['=~', '200|500', (v) => v === '200' || v === '500'],
      ['=~', '2.*', (v) => v.startsWith('2')],
      ['=~', '.*', () => true],
      ['=~', '.+', (v) => v !== ''],
      ['=~', '(200|)', (v) => v === '200' || v === ''],
      ['=~', '[45]0.', (v) => /^[45]0.$/.test(v)],
      ['!~', '[45]..', (v) => !/^[45]..$/.test(v)],
      ['!~', '200|404', (v) => v !== '200' && v !== '404'],
      ['!~', '|200', (v) => v !== '' && v !== '200'],
    ];
    for (const [type, value, keep] of cases) {
      const found = await store.series(
        [
          [
            { type: '=', name: 'method', value: 'GET' },
            { type, name: 'code', value },
          ],
        ],
        0,
        Infinity,
      );
      const expected = all.filter((l) => l.method === 'GET' && keep(l.code!)).map(({ code }) => code);
      const codes = found.map((labels) => labelsToObject(labels)['code'] ?? '').toSorted();
      expect([type, value, codes]).toEqual([type, value, expected]);
    }
    expect(await store.labelValues('code', [], 0, Infinity)).toEqual(['200', '404', '500']);
    expect(await store.labelNames([[{ type: '=', name: 'code', value: '' }]], 0, Infinity)).toEqual([
      '__name__',
      'method',
    ]);
    await store.close();
  });

  test('the refusal of a bad regular expression names the label', async () => {
    const store = await open(new MemoryFiles(), new FakeClock(start));
    await expect(store.series([[{ type: '=~', name: 'a', value: '(?=x)' }]], 0, 1)).rejects.toThrow(
      /matcher on a: bad regular/,
    );
    await store.close();
  });
});

describe('the directory lock', () => {
  test('a second store on the same directory is refused until the first is closed', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-store-'));
    try {
      const clock = new FakeClock(start);
      const options = { dir, clock, logger: silentLogger };
      const first = await openStore(options);
      await expect(openStore(options)).rejects.toMatchObject({ code: 'ERR_STORE_LOCKED' });
      await first.close();
      await (await openStore(options)).close();
    } finally {
      await rm(dir, { recursive: true });
    }
  });
});

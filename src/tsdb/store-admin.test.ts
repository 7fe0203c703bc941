import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createLogger, silentLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { aHistogram } from '../testing/tsdb/histograms.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import type { FileCall } from '../testing/tsdb/memory-files.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { labelsFromObject, labelsKey, openStore } from './index.ts';
import type { Matcher, Store, StoreOptions } from './index.ts';

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;
const [a, b, h] = ['a', 'b', 'h'].map((s) => labelsFromObject({ __name__: 'm', s })) as [never, never, never];

/** A store with one sample a minute of each series for some hours, in blocks and in the head. */
async function filled(
  options: Partial<StoreOptions> = {},
  hours = 8,
): Promise<{ store: Store; options: StoreOptions; clock: FakeClock }> {
  const clock = new FakeClock(start);
  const all = { dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger, retentionMs: 1e12, ...options };
  const store = await openStore(all);
  for (let n = 0; n < hours * 60; n++) {
    clock.jumpWall(60_000);
    store.append(a, clock.now(), n);
    store.append(b, clock.now(), n * 2);
    store.appendHistogram(h, clock.now(), aHistogram(0, n));
    if (n % 60 === 59) await store.maintain();
  }
  await store.commit();
  return { store, options: all, clock };
}

const count = (store: Store, series: typeof a): number => readSamples(store).get(labelsKey(series))?.size ?? 0;

describe('deleting', () => {
  test('samples of the given series and times are deleted from blocks and head, even after a crash', async () => {
    const { store, options } = await filled();
    const files = options.files as MemoryFiles;
    const before = readSamples(store);
    await store.delete([{ type: '=~', name: 's', value: 'a|h' }], start + hour, start + 7.5 * hour);
    const expected = new Map(
      [...before].map(([key, samples]) => [
        key,
        new Map([...samples].filter(([t]) => key === labelsKey(b) || t < start + hour || t > start + 7.5 * hour)),
      ]),
    );
    expect(readSamples(store)).toEqual(expected);
    files.crash();
    const again = await openStore(options);
    expect(readSamples(again)).toEqual(expected);
    await again.close();
  });

  test('a deletion whose selector is refused deletes nothing, in the head neither', async () => {
    const { store, clock } = await filled();
    store.append(labelsFromObject({ __name__: 'm', s: 'b'.repeat(200) }), clock.now(), 1);
    clock.jumpWall(6 * hour);
    await store.maintain();
    store.append(b, clock.now(), 1);
    expect(store.stats().series).toBe(1);
    const value = '(b|c)*b(b|c){600}|b';
    const before = readSamples(store);
    await expect(store.delete([{ type: '=~', name: 's', value }], -Infinity, Infinity)).rejects.toMatchObject({
      code: 'ERR_SELECTION_LIMIT',
    });
    expect(readSamples(store)).toEqual(before);
  });

  test('a series whose samples are all deleted is in no list, and the next merge frees its space', async () => {
    const { store } = await filled();
    const bytes = store.stats().blockBytes;
    await store.delete([{ type: '=', name: 's', value: 'b' }], -Infinity, Infinity);
    expect(await store.labelValues('s', [], -Infinity, Infinity)).toEqual(['a', 'h']);
    const gone: Matcher[][] = [[{ type: '=', name: 's', value: 'b' }]];
    expect(await store.series(gone, -Infinity, Infinity)).toEqual([]);
    expect(await store.labelNames(gone, -Infinity, Infinity)).toEqual([]);
    expect(await store.series([], -Infinity, Infinity)).toEqual([a, h]);
    expect(store.latest([], 0).map(({ labels }) => labels)).not.toContainEqual(b);
    await store.maintain();
    expect(store.stats().blockBytes).toBeLessThan(bytes);
    expect(count(store, a)).toBe(480);
    await store.close();
  });

  test('a block whose tombstones are damaged goes to the quarantine with them, and its file is closed', async () => {
    const { store, options } = await filled();
    const files = options.files as MemoryFiles;
    const { blocks } = store.stats();
    await store.delete([{ type: '=', name: 's', value: 'b' }], start, start + hour);
    await store.close();
    const [path, ...others] = files.paths().filter((p) => p.endsWith('.tombstones'));
    expect([others, files.unclosedReads.size]).toEqual([[], 0]);
    files.flip(path!, Math.floor(files.bytesOf(path!).length / 2));
    const again = await openStore(options);
    expect(again.stats()).toMatchObject({ blocks: blocks - 1, quarantinedBlocks: 1 });
    expect(files.paths().filter((p) => p.includes('/quarantine/'))).toHaveLength(2);
    expect(files.unclosedReads.size).toBe(blocks - 1);
    await again.close();
    expect(files.unclosedReads.size).toBe(0);
  });

  test('samples that are appended after a delete are kept', async () => {
    const { store, clock } = await filled({}, 1);
    await store.delete([], -Infinity, Infinity);
    expect(store.append(a, clock.now(), 7)).toBe('appended');
    expect([count(store, a), count(store, b)]).toEqual([1, 0]);
    await store.close();
  });
});

describe('merging', () => {
  test('blocks of two hours are merged into blocks of six, but no longer than a quarter of the retention', async () => {
    const { store } = await filled({}, 16);
    expect(store.stats()).toMatchObject({ blocks: 3, oldestMs: start });
    expect(count(store, a)).toBe(16 * 60);
    await store.close();
    const short = await filled({ retentionMs: 24 * hour - 1 }, 16);
    expect(short.store.stats().blocks).toBe(7);
    await short.store.close();
  });

  test('a crash after a merged block is written, before its parts are removed, leaves each sample once', async () => {
    const clock = new FakeClock(start);
    const files = new MemoryFiles();
    const options = { dir: '/s', files, clock, logger: silentLogger, retentionMs: 1e12 };
    let store = await openStore(options);
    for (let n = 0; n < 8 * 60; n++) {
      clock.jumpWall(60_000);
      store.append(a, clock.now(), n);
    }
    files.fault = (call, path) => call === 'remove' && path.endsWith('.block');
    await expect(store.maintain()).rejects.toThrow(/EIO/);
    files.crash();
    store = await openStore(options);
    expect(store.stats().blocks).toBe(1);
    expect(count(store, a)).toBe(8 * 60);
    await store.close();
  });

  test('a block that cannot be read for a moment while it is merged is merged all the same, and closed once', async () => {
    const clock = new FakeClock(start);
    const files = new MemoryFiles();
    let isBroken = false;
    const openRead = files.openRead.bind(files);
    files.openRead = (path) => {
      const file = openRead(path);
      const read: typeof file.read = (position, length) => {
        if (isBroken) throw new Error('EIO');
        return file.read(position, length);
      };
      return { ...file, read };
    };
    const store = await openStore({ dir: '/s', files, clock, logger: silentLogger, retentionMs: 1e12 });
    for (let n = 0; n < 8 * 60; n++) {
      clock.jumpWall(60_000);
      store.append(a, clock.now(), n);
    }
    const before = readSamples(store);
    files.fault = (call, path) => {
      if (call === 'create' && path.endsWith('.block.tmp') && store.stats().blocks === 3) {
        isBroken = true;
        expect(() => readSamples(store)).toThrow(/cannot be read/);
        isBroken = false;
      }
      return false;
    };
    await store.maintain();
    expect(store.stats()).toMatchObject({ blocks: 1, quarantinedBlocks: 1 });
    expect(readSamples(store)).toEqual(before);
    expect(files.unclosedReads.size).toBe(1);
    await store.close();
    expect(files.unclosedReads.size).toBe(0);
  });
});

test('a snapshot opens as a store with everything that was appended before it, and an unfinished one is removed', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'svc-snapshot-'));
  try {
    const { store, options } = await filled({ dir: join(dir, 'live'), files: (await import('./index.ts')).nodeFiles });
    const before = readSamples(store);
    const path = await store.snapshot();
    await cp(path, `${path}.tmp`, { recursive: true });
    store.append(a, start + 9 * hour, 1);
    await store.delete([], start, start + 9 * hour);
    await store.close();
    const copy = await openStore({ ...options, dir: path });
    expect(readSamples(copy)).toEqual(before);
    await copy.close();
    const live = await openStore(options);
    expect(await readdir(join(dir, 'live/snapshots'))).toEqual([basename(path)]);
    await live.close();
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

describe('an unfinished snapshot', () => {
  const inSnapshots = (files: MemoryFiles): string[] => files.paths().filter((path) => path.includes('/snapshots/'));

  test.each<FileCall>(['create', 'write', 'sync', 'syncDir', 'rename'])(
    'that failed (%s) leaves nothing that keeps the space of removed blocks, and the next one succeeds',
    async (call) => {
      const { store, options } = await filled();
      const files = options.files as MemoryFiles;
      expect(store.stats().blocks).toBeGreaterThan(0);
      files.fault = (made, path) => made === call && path.includes('/snapshots/') && path.includes('.tmp');
      await expect(store.snapshot()).rejects.toThrow(/EIO|ENOSPC/);
      expect(inSnapshots(files)).toEqual([]);
      files.fault = undefined;
      await store.snapshot();
      expect(inSnapshots(files).length).toBeGreaterThan(2);
      await store.close();
    },
  );

  test('that the end of the process cut off is removed at the next start, and whole ones stay', async () => {
    const { store, options, clock } = await filled();
    const files = options.files as MemoryFiles;
    const whole = await store.snapshot();
    clock.jumpWall(1_000);
    // As when the process ends after the blocks were linked: nothing more is written, and nothing is removed.
    files.fault = (call, path) => path.includes('/snapshots/') && !path.startsWith(whole) && call !== 'create';
    await expect(store.snapshot()).rejects.toThrow(/EIO|ENOSPC/);
    expect(inSnapshots(files).filter((path) => path.includes('.tmp/'))).not.toEqual([]);
    files.crash();
    const again = await openStore(options);
    expect(inSnapshots(files).length).toBeGreaterThan(2);
    expect(inSnapshots(files).filter((path) => !path.startsWith(`${whole}/`))).toEqual([]);
    await again.close();
  });

  test('that cannot be removed does not prevent the start, and is logged', async () => {
    const files = new MemoryFiles();
    const file = await files.openWrite('/s/snapshots/20260101T000000000Z.tmp/format', 'create');
    await file.close();
    files.fault = (call, path) => call === 'remove' && path.includes('/snapshots/');
    const lines: string[] = [];
    const logger = createLogger({ write: (line) => lines.push(line) });
    const store = await openStore({ dir: '/s', files, clock: new FakeClock(start), logger });
    expect(lines.join('')).toMatch(/an unfinished snapshot cannot be removed/);
    await store.close();
  });
});

test('a clean end leaves a checkpoint: the next start replays nothing and still accepts late samples', async () => {
  const clock = new FakeClock(start);
  const options = { dir: '/s', files: new MemoryFiles(), clock, logger: silentLogger };
  const store = await openStore(options);
  const many = Array.from({ length: 500 }, (_, i) => labelsFromObject({ __name__: 'm', i: String(i) }));
  for (let n = 0; n < 400; n++) {
    clock.jumpWall(15_000);
    for (const labels of many) store.append(labels, clock.now(), Math.sin(n));
  }
  await store.close();
  const again = await openStore(options);
  expect(again.stats().walBytes).toBe(0);
  expect(again.append(many[3]!, clock.now() - 1000, 5)).toBe('appended');
  expect(again.append(many[3]!, clock.now(), Math.sin(399))).toBe('duplicate');
  expect(again.append(many[3]!, clock.now(), 5)).toBe('conflict');
  expect(again.append(many[3]!, clock.now() - 300_001, 5)).toBe('late');
  const times = [...readSamples(again).get(labelsKey(many[3]!))!.keys()];
  expect(times).toHaveLength(401);
  expect(times.slice(-3)).toEqual([clock.now() - 15_000, clock.now() - 1_000, clock.now()]);
  await again.close();
});

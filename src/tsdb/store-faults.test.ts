import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../base/logger.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { MemoryFiles } from '../testing/tsdb/memory-files.ts';
import type { FileCall } from '../testing/tsdb/memory-files.ts';
import { readSamples } from '../testing/tsdb/read-samples.ts';
import { rangeStart } from './block-range.ts';
import { labelsFromObject, labelsKey, nodeFiles, openStore } from './index.ts';
import type { Store, StoreOptions } from './index.ts';

const start = Date.UTC(2026, 0, 1);
const series = ['a', 'b', 'c', 'd'].map((s) => labelsFromObject({ __name__: 'm', s }));

interface World {
  files: MemoryFiles;
  clock: FakeClock;
  lines: string[];
}

const world = (): World => ({ files: new MemoryFiles(), clock: new FakeClock(start), lines: [] });

const open = ({ files, clock, lines }: World, extra: Partial<StoreOptions> = {}): Promise<Store> =>
  openStore({
    dir: '/s',
    files,
    clock,
    logger: createLogger({ write: (l) => lines.push(l) }),
    segmentBytes: 4000,
    flushIntervalMs: 1e12,
    ...extra,
  });

/**
 * Appends samples of five hours in steps of a minute, with a commit or maintenance now and then. Returns the samples
 * that were acknowledged, all samples that were tried, and how many commits and maintenance runs failed.
 */
async function work(
  store: Store,
  clock: FakeClock,
): Promise<{ acked: Set<string>; tried: Set<string>; failures: number }> {
  const acked = new Set<string>();
  const tried = new Set<string>();
  let waiting: string[] = [];
  let failures = 0;
  for (let minute = 0; minute < 300; minute++) {
    clock.jumpWall(60_000);
    for (const [i, labels] of series.entries()) {
      const value = minute * 10 + i;
      const sample = `${labelsKey(labels)} ${clock.now()} ${value}`;
      tried.add(sample);
      if (store.append(labels, clock.now(), value) === 'appended') waiting.push(sample);
    }
    if (minute % 5 !== 4) continue;
    try {
      await store.commit();
      for (const sample of waiting) acked.add(sample);
      waiting = [];
      if (minute % 60 === 59) await store.maintain();
    } catch {
      failures++;
    }
  }
  return { acked, tried, failures };
}

function held(store: Store): Set<string> {
  const all = new Set<string>();
  for (const [key, samples] of readSamples(store)) {
    for (const [t, bits] of samples) {
      all.add(`${key} ${t} ${Buffer.from(bits, 'hex').readDoubleBE(0)}`);
    }
  }
  return all;
}

function expectNothingLostOrWrong(store: Store, acked: ReadonlySet<string>, tried: ReadonlySet<string>): void {
  const found = held(store);
  expect([...acked].filter((s) => !found.has(s))).toEqual([]);
  expect([...found].filter((s) => !tried.has(s))).toEqual([]);
}

async function countCalls(): Promise<number> {
  const w = world();
  let calls = 0;
  w.files.fault = () => (calls++, false);
  const store = await open(w);
  await work(store, w.clock);
  return calls;
}

describe('when the disk fails', () => {
  test('after any one failed call and a power cut, no acknowledged sample is lost and none is wrong', async () => {
    const calls = await countCalls();
    expect(calls).toBeGreaterThan(100);
    let failed = 0;
    for (let broken = 0; broken < calls; broken++) {
      const w = world();
      let call = 0;
      w.files.fault = (kind) => call++ === broken && (kind === 'write' ? broken % 40 : true);
      // The first calls belong to the opening of the store, which goes on if one of them fails.
      let store = await open(w);
      const { acked, tried, failures } = await work(store, w.clock);
      expect([call > broken, acked.size > 1_000]).toEqual([true, true]);
      failed += failures;
      w.files.crash(() => (broken % 5) / 4);
      store = await open(w);
      expectNothingLostOrWrong(store, acked, tried);
      await store.close();
    }
    // Most of the calls belong to a commit or to maintenance, which report that they failed.
    expect(failed).toBeGreaterThan(calls / 2);
  });

  test('a full disk makes commit fail, and once there is room everything kept in memory becomes durable', async () => {
    const w = world();
    let store = await open(w);
    store.append(series[0]!, start, 1);
    w.files.fault = (kind: FileCall) => kind === 'write' && 7;
    await expect(store.commit()).rejects.toMatchObject({ code: 'ERR_STORE_WRITE' });
    await expect(store.commit()).rejects.toThrow(/ENOSPC/);
    expect(store.stats().writeError).toMatch(/ENOSPC/);
    store.append(series[1]!, start, 2);
    w.files.fault = undefined;
    await store.commit();
    expect(store.stats().writeError).toBeUndefined();
    w.files.crash();
    store = await open(w);
    expect(store.latest([], 0).map((s) => s.value)).toEqual([1, 2]);
    await store.close();
  });

  test('on a full disk, what waits for the log is copied only as its buffer grows', async () => {
    const w = world();
    const buffers: ArrayBufferLike[] = [];
    const openWrite = w.files.openWrite.bind(w.files);
    w.files.openWrite = async (path, mode) => {
      const file = await openWrite(path, mode);
      const write: typeof file.write = (bytes, position) => {
        buffers.push(bytes.buffer);
        return file.write(bytes, position);
      };
      return { ...file, write };
    };
    let store = await open(w, { segmentBytes: 1e9 });
    store.append(series[0]!, start, 1);
    await store.commit();
    w.files.fault = (kind) => kind === 'write' && 7;
    buffers.length = 0;
    const expected = new Set([`${labelsKey(series[0]!)} ${start} 1`]);
    for (let i = 1; i <= 300; i++) {
      // Long, so that the buffer has to grow.
      const labels = labelsFromObject({ __name__: 'm', s: `${i} `.repeat(500) });
      expect(store.append(labels, start, i)).toBe('appended');
      expected.add(`${labelsKey(labels)} ${start} ${i}`);
      await expect(store.commit()).rejects.toThrow(/ENOSPC/);
      await expect(store.commit()).rejects.toThrow(/ENOSPC/);
    }
    expect(buffers).toHaveLength(600);
    expect(new Set(buffers).size).toBeLessThan(10);
    w.files.fault = undefined;
    await store.commit();
    w.files.crash();
    store = await open(w);
    expect(held(store)).toEqual(expected);
    await store.close();
  });

  test('on a full disk, blocks older than the retention are removed all the same', async () => {
    const w = world();
    const hour = 3_600_000;
    const store = await open(w, { retentionMs: 6 * hour });
    await work(store, w.clock);
    expect(store.stats().blocks).toBe(2);
    w.files.fault = (kind) => kind === 'write' && 0;
    // A step of the clock counts for retention once it has lasted for an hour.
    w.clock.jumpWall(10 * hour);
    await w.clock.advance(2 * hour);
    await expect(store.maintain()).rejects.toThrow(/ENOSPC/);
    expect(store.stats().blocks).toBe(0);
    expect(w.files.paths().filter((path) => path.endsWith('.block'))).toEqual([]);
    w.files.fault = undefined;
    await store.close();
  });

  test('old blocks that cannot be removed do not keep others, and the next upkeep goes on without them', async () => {
    const w = world();
    const hour = 3_600_000;
    const store = await open(w, { retentionMs: 20 * hour });
    await work(store, w.clock);
    await work(store, w.clock);
    await w.clock.advance(2 * hour);
    const blocks = (): string[] => w.files.paths().filter((path) => path.endsWith('.block'));
    const [first, second, third, ...newer] = blocks();
    expect(newer).toHaveLength(2);
    store.append(series[0]!, w.clock.now(), 1);
    w.clock.jumpWall(4 * hour);
    store.setRetention({ ms: 5 * hour, bytes: Infinity });
    w.files.fault = (call, path) => call === 'remove' && (path === first || path === second);
    await expect(store.maintain()).rejects.toThrow(`EIO: remove ${first}`);
    expect(blocks()).toEqual([first, second, ...newer]);
    expect(third).toBeDefined();
    expect(store.stats().blocks).toBe(2);
    await store.maintain();
    expect(store.stats().blocks).toBe(4);
    await store.close();
    expect(w.files.unclosedReads.size).toBe(0);
  });

  test('parts of a merge that cannot be removed stay neither in the set nor open, and a restart removes them', async () => {
    const w = world();
    let store = await open(w);
    await work(store, w.clock);
    w.files.fault = (call, path) => call === 'remove' && path.endsWith('.block');
    const { failures } = await work(store, w.clock);
    expect([failures, store.stats().blocks]).toEqual([1, 2]);
    expect(w.files.unclosedReads.size).toBe(2);
    const whole = held(store);
    await store.close();
    w.files.fault = undefined;
    store = await open(w);
    expect(w.files.paths().filter((path) => path.endsWith('.block'))).toHaveLength(2);
    expect(held(store)).toEqual(whole);
    await store.close();
  });

  test('on a full disk, a damaged block and a damaged checkpoint are set aside, and the store opens', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'svc-full-'));
    try {
      const w = world();
      let store = await open(w, { dir, files: nodeFiles });
      await work(store, w.clock);
      await store.close();
      const damaged = [];
      for (const [folder, name] of [
        ['blocks', /\.block$/],
        ['wal', /^checkpoint\./],
      ] as const) {
        const path = join(
          dir,
          folder,
          (await readdir(join(dir, folder))).find((file) => name.test(file))!,
        );
        await truncate(path, 20);
        damaged.push(path);
      }
      const noRoom = (path: string): Promise<never> =>
        Promise.reject(Object.assign(new Error(`ENOSPC: no space left on device, '${path}'`), { code: 'ENOSPC' }));
      const full = {
        ...nodeFiles,
        makeDir: (path: string) => (existsSync(path) ? Promise.resolve() : noRoom(path)),
        openWrite: noRoom,
      };
      store = await open(w, { dir, files: full });
      expect(store.stats()).toMatchObject({ blocks: 1, quarantinedBlocks: 1 });
      await store.close();
      expect(damaged.map((path) => existsSync(path))).toEqual([false, false]);
      expect(await readdir(join(dir, 'quarantine'))).toHaveLength(2);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test('a commit whose fsync fails is not durable, and the next commit writes its samples again', async () => {
    const w = world();
    let store = await open(w);
    store.append(series[0]!, start, 1);
    await store.commit();
    store.append(series[0]!, start + 1000, 2);
    w.files.fault = (kind) => kind === 'sync';
    await expect(store.commit()).rejects.toThrow(/EIO/);
    w.files.fault = undefined;
    await store.commit();
    w.files.crash();
    store = await open(w);
    expect(held(store).size).toBe(2);
    await store.close();
  });
});

/**
 * Appends a hundred samples to each series, with a commit after every ten, and closes the store. `path` is the last
 * segment of its log. `committed` gives the samples that were on disk before an offset in that segment, including those
 * of earlier segments.
 */
async function logged(
  { files }: World,
  store: Store,
): Promise<{ tried: Set<string>; committed: (at: number) => Set<string>; path: string }> {
  const tried = new Set<string>();
  const last = (): string => files.paths().findLast((path) => /\/wal\/\d+$/.test(path))!;
  const commits: { path: string; length: number; held: ReadonlySet<string> }[] = [];
  for (let i = 0; i < 100; i++) {
    for (const labels of series) {
      store.append(labels, start + i * 1000, i);
      tried.add(`${labelsKey(labels)} ${start + i * 1000} ${i}`);
    }
    if (i % 10 !== 9) continue;
    await store.commit();
    commits.push({ path: last(), length: files.bytesOf(last()).length, held: new Set(tried) });
  }
  await store.close();
  const path = last();
  const isBefore = (commit: (typeof commits)[number], at: number): boolean => commit.path < path || commit.length <= at;
  const committed = (at: number): Set<string> =>
    new Set(commits.filter((commit) => isBefore(commit, at)).flatMap(({ held: all }) => [...all]));
  return { tried, committed, path };
}

describe('damaged files', () => {
  /** A store with a damaged block, a damaged end of the log, and a sound block. */
  async function damagedStore(w: World): Promise<Store> {
    w.files.now = () => w.clock.now();
    let store = await open(w);
    await work(store, w.clock);
    for (const labels of series) {
      store.append(labels, w.clock.now() + 1, 1);
      await store.commit();
    }
    await store.close();
    const path = w.files.paths().find((p) => /\/wal\/\d+$/.test(p))!;
    w.files.flip(path, Math.floor(w.files.bytesOf(path).length / 2));
    await w.files
      .openWrite(
        w.files.paths().find((p) => p.endsWith('.block'))!,
        'existing',
      )
      .then(async (file) => {
        await file.truncate(20);
        await file.sync();
        await file.close();
      });
    store = await open(w);
    expect(store.stats()).toMatchObject({ blocks: 1, quarantinedBlocks: 1 });
    return store;
  }
  const setAside = ({ files }: World): string[] =>
    files.paths().flatMap((path) => /\/quarantine\/.*(block|wal)/.exec(path)?.[1] ?? []);

  test('are removed from the quarantine once they are older than the retention', async () => {
    const w = world();
    const hour = 3_600_000;
    const store = await damagedStore(w);
    store.setRetention({ ms: 6 * hour, bytes: Infinity });
    await store.maintain();
    expect(setAside(w)).toEqual(['block', 'wal']);
    // The block ends two hours after the start, and the log is read after five.
    for (const [elapsed, left] of [
      [3, ['wal']],
      [3, []],
    ] as const) {
      await w.clock.advance(elapsed * hour);
      await store.maintain();
      expect(setAside(w)).toEqual(left);
    }
    expect(w.lines.filter((line) => line.includes('damaged file removed'))).toHaveLength(2);
    await store.close();
  });

  test('in the quarantine count as bytes of the store, and go before blocks do, the oldest first', async () => {
    const w = world();
    const store = await damagedStore(w);
    const { blockBytes } = store.stats();
    const log = w.files.bytesOf(w.files.paths().find((path) => path.includes('/quarantine/wal-'))!).length;
    const keeps = async (bytes: number): Promise<string[]> => {
      store.setRetention({ ms: Infinity, bytes });
      await store.maintain();
      return setAside(w);
    };
    expect(await keeps(blockBytes + log + 20)).toEqual(['block', 'wal']);
    w.files.fault = (call, path) => call === 'remove' && path.includes('/quarantine/');
    expect(await keeps(blockBytes + log + 19)).toEqual(['block', 'wal']);
    w.files.fault = undefined;
    expect(await keeps(blockBytes + log)).toEqual(['wal']);
    expect(await keeps(blockBytes)).toEqual([]);
    expect(store.stats().blocks).toBe(1);
    await store.close();
  });

  test('a flipped bit in the log loses at most the rest of the damaged segment, and is logged', async () => {
    const w = world();
    let store = await open(w);
    const { tried, committed, path } = await logged(w, store);
    const length = w.files.bytesOf(path).length;
    const before = w.files.bytesOf(path).slice();
    expect(length).toBeGreaterThan(500);
    for (let at = 8; at < length; at += 7) {
      w.lines.length = 0;
      const copy = new MemoryFiles();
      for (const p of w.files.paths()) {
        const file = await copy.openWrite(p, 'create');
        await file.write(p === path ? before : w.files.bytesOf(p), 0);
        await file.sync();
      }
      copy.flip(path, at);
      store = await open({ ...w, files: copy });
      expectNothingLostOrWrong(store, committed(at), tried);
      expect(w.lines.join('')).toMatch(/log segment/);
      await store.close();
    }
  });

  test.each([
    ['beyond the end of a segment that is not the last', 10, 0],
    ['beyond that of any record, in the last segment', 11, -1],
  ])('a length %s is damage and no torn end: the rest of the segment is set aside', async (_what, at, which) => {
    const w = world();
    let store = await open(w, { segmentBytes: 1000 });
    await logged(w, store);
    const segments = w.files.paths().filter((path) => /\/wal\/\d+$/.test(path));
    expect(segments.length).toBeGreaterThan(1);
    const path = segments.at(which)!;
    w.files.flip(path, at);
    const rest = w.files.bytesOf(path).slice(8);
    store = await open(w);
    const copies = w.files.paths().filter((p) => p.startsWith('/s/quarantine/wal-'));
    expect(copies.map((copy) => Buffer.from(w.files.bytesOf(copy)).equals(rest))).toEqual([true]);
    expect(w.lines.join('')).toMatch(/"level":"error".*damaged log segment/);
    await store.close();
  });

  test('a page of zeros in the log loses at most the rest of the damaged segment, and makes up no sample', async () => {
    for (const keepEnd of [0, 1]) {
      const w = world();
      let store = await open(w);
      const { tried, committed, path } = await logged(w, store);
      const bytes = w.files.bytesOf(path);
      const file = await w.files.openWrite(path, 'existing');
      const from = Math.floor(bytes.length / 2);
      await file.write(new Uint8Array(keepEnd ? 64 : bytes.length - from), from);
      await file.sync();
      w.lines.length = 0;
      store = await open(w);
      expect(committed(from).size).toBeGreaterThan(0);
      expectNothingLostOrWrong(store, committed(from), tried);
      expect(w.lines.join('')).toMatch(/log segment/);
      await store.close();
    }
  });

  test('zeros or a flipped bit in a block fail the first query on it; the next query returns the rest', async () => {
    for (const damage of ['zeros', 'flip'] as const) {
      const w = world();
      let store = await open(w);
      const { tried } = await work(store, w.clock);
      const whole = held(store);
      await store.close();
      const path = w.files.paths().find((p) => p.endsWith('.block'))!;
      if (damage === 'flip') w.files.flip(path, 40);
      else {
        const file = await w.files.openWrite(path, 'existing');
        await file.write(new Uint8Array(64), 30);
        await file.sync();
      }
      store = await open(w);
      expect(() => held(store)).toThrow(/checksum/);
      // The first block is that of the first two hours.
      const end = rangeStart(start) + 2 * 3_600_000;
      const rest = [...whole].filter((sample) => Number(sample.split(' ').at(-2)) >= end);
      expect([rest.length > 0, rest.length < whole.size]).toEqual([true, true]);
      expectNothingLostOrWrong(store, new Set(rest), tried);
      expect(store.stats().quarantinedBlocks).toBe(1);
      await store.close();
      expect(w.lines.join('')).toMatch(/block cannot be read, it is set aside/);
      expect(w.files.paths().some((p) => p.includes('/quarantine/'))).toBe(true);
    }
  });

  test('a page of zeros after the log, as some file systems leave after a power cut, is cut off', async () => {
    const w = world();
    let store = await open(w);
    store.append(series[0]!, start, 1);
    await store.close();
    const path = w.files.paths().find((p) => p.includes('/wal/'))!;
    const file = await w.files.openWrite(path, 'existing');
    await file.write(new Uint8Array(4096), w.files.bytesOf(path).length);
    await file.sync();
    store = await open(w);
    expect(store.stats()).toMatchObject({ replay: { cutBytes: 4096 }, series: 1 });
    await store.close();
  });

  test.each<[FileCall, (path: string) => boolean]>([
    ['truncate', (path) => path.includes('/wal/')],
    ['sync', (path) => path.includes('/wal/')],
  ])('a damaged log that cannot be cut (%s fails) leaves no file open', async (call, isAt) => {
    const w = world();
    const store = await open(w);
    await work(store, w.clock);
    for (let i = 0; i < 3; i++) {
      store.append(series[i]!, w.clock.now() + 1, i);
      await store.commit();
    }
    expect(store.stats().blocks).toBe(2);
    await store.close();
    const path = w.files.paths().find((p) => /\/wal\/\d+$/.test(p))!;
    w.files.flip(path, Math.floor(w.files.bytesOf(path).length / 2));
    w.files.fault = (made, at) => made === call && isAt(at);
    await expect(open(w)).rejects.toThrow(/EIO|ENOSPC/);
    expect([w.files.unclosed.size, w.files.unclosedReads.size]).toEqual([0, 0]);
  });

  const noMemory = (): Error => new RangeError('Array buffer allocation failed');

  test.each<[string, () => Error]>([
    ...['EMFILE', 'ENFILE', 'ENOMEM', 'EACCES', 'EPERM'].map((code): [string, () => Error] => [
      code,
      () => Object.assign(new Error(code), { code }),
    ]),
    ['no memory', noMemory],
  ])(
    'a block that this process cannot open (%s) is not damaged: the store is not opened, and no block is moved',
    async (_what, failure) => {
      const w = world();
      let store = await open(w);
      await work(store, w.clock);
      const whole = held(store);
      await store.close();
      const openRead = w.files.openRead.bind(w.files);
      w.files.openRead = (path) => {
        if (w.files.unclosedReads.size === 0) return openRead(path);
        throw failure();
      };
      await expect(open(w)).rejects.toThrow(failure().message);
      expect(w.files.unclosedReads.size).toBe(0);
      w.files.openRead = openRead;
      store = await open(w);
      expect(held(store)).toEqual(whole);
      await store.close();
    },
  );

  test('a block that a query or a merge has no memory to read is not damaged', async () => {
    const w = world();
    const unread = new Set<string>();
    const openRead = w.files.openRead.bind(w.files);
    w.files.openRead = (path) => {
      const file = openRead(path);
      const read: typeof file.read = (at, length) => {
        if (unread.has(path)) throw noMemory();
        return file.read(at, length);
      };
      return { read, close: () => file.close() };
    };
    const store = await open(w);
    const first = await work(store, w.clock);
    for (const path of w.files.paths().filter((p) => p.endsWith('.block'))) unread.add(path);
    expect(unread.size).toBe(2);
    expect(() => held(store)).toThrow('Array buffer allocation failed');
    const second = await work(store, w.clock);
    expect(second.failures).toBeGreaterThan(0);
    unread.clear();
    await store.maintain();
    expect(store.stats()).toMatchObject({ blocks: 2, quarantinedBlocks: 0 });
    const both = (of: 'acked' | 'tried'): Set<string> => new Set([...first[of], ...second[of]]);
    expectNothingLostOrWrong(store, both('acked'), both('tried'));
    await store.close();
  });

  test('a damaged log that was left whole and can be read again gives each series its own samples', async () => {
    const w = world();
    let store = await open(w);
    const expected = new Set<string>();
    const add = async (labels: (typeof series)[number], value: number): Promise<void> => {
      store.append(labels, start, value);
      expected.add(`${labelsKey(labels)} ${start} ${value}`);
      await store.commit();
    };
    await add(series[0]!, 1);
    const path = w.files.paths().find((p) => p.includes('/wal/'))!;
    const damagedAt = w.files.bytesOf(path).length + 10;
    await add(series[1]!, 2);
    await store.close();
    w.files.flip(path, damagedAt);
    w.files.fault = (call, at) => call === 'write' && at.includes('/quarantine/');
    store = await open(w);
    expect(store.stats().series).toBe(1);
    await add(series[2]!, 3);
    await store.close();
    w.files.flip(path, damagedAt);
    store = await open(w);
    expect(held(store)).toEqual(expected);
    await store.close();
  });

  test.each<FileCall>(['create', 'write', 'sync'])(
    'a damaged log whose rest cannot be set aside (%s fails) is read and stays whole until it can be',
    async (call) => {
      const w = world();
      let store = await open(w);
      const { tried, committed, path } = await logged(w, store);
      const damagedAt = Math.floor(w.files.bytesOf(path).length / 2);
      w.files.flip(path, damagedAt);
      const damaged = w.files.bytesOf(path).slice();
      w.files.fault = (made, at) => made === call && at.includes('/quarantine/');
      store = await open(w);
      expect(committed(damagedAt).size).toBeGreaterThan(0);
      expectNothingLostOrWrong(store, committed(damagedAt), tried);
      expect(w.lines.join('')).toMatch(/cannot be set aside, it stays.*(EIO|ENOSPC)/);
      expect(w.files.bytesOf(path)).toEqual(damaged);
      expect(w.files.paths().filter((p) => p.includes('/quarantine/'))).toEqual([]);
      store.append(series[0]!, start + 200_000, 7);
      await store.close();
      expect(w.files.unclosed.size).toBe(0);
      w.files.fault = undefined;
      store = await open(w);
      const kept = held(store);
      expect(kept).toContain(`${labelsKey(series[0]!)} ${start + 200_000} 7`);
      expect([...committed(damagedAt)].filter((sample) => !kept.has(sample))).toEqual([]);
      const copies = w.files.paths().filter((p) => p.includes('/quarantine/'));
      expect(copies.map((p) => Buffer.from(damaged).includes(Buffer.from(w.files.bytesOf(p))))).toEqual([true]);
      expect(w.files.bytesOf(path).length).toBeLessThanOrEqual(damagedAt);
      await store.close();
    },
  );
});

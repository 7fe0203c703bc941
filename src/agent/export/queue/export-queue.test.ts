import { jest } from '@jest/globals';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { heapAfterGc } from '../../../testing/heap.ts';
import { ExportQueue } from './export-queue.ts';
import type { QueueOptions } from './options.ts';
import type { QueuedSample, QueuedSeries } from './record.ts';

let dir: string;
let dropped: [items: number, why: string, unreadableBytes?: number][];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'export-queue-'));
  dropped = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

const open = (change: Partial<QueueOptions> = {}, failingMs = 0): ExportQueue =>
  ExportQueue.open(
    { dir, maxBytes: 10_000_000, onDropped: (...lost) => dropped.push(lost), ...change },
    () => failingMs,
  );

const aSeries = (name: string, group?: string): QueuedSeries => ({
  labels: [
    ['__name__', name],
    ['pod', 'p1'],
  ],
  meta: { family: name, type: 'counter', help: 'help', unit: 's' },
  ...(group ? { group } : {}),
});
const sample = (series: QueuedSeries, value: number): QueuedSample => ({
  series,
  timeMs: 1_000 + value,
  value,
  stale: false,
});
const valuesOf = (samples: readonly QueuedSample[] | undefined): number[] => (samples ?? []).map((s) => s.value);

test('committed items come back complete, also in another process', async () => {
  const a = aSeries('a');
  const first = open();
  first.append(sample(a, 1));
  first.append({ series: a, timeMs: 5_000, value: NaN, stale: true });
  await first.commit();
  first.append(sample(a, 2));
  await first.commit();
  const round = await open().next(100);
  expect(round!.samples[0]).toEqual({
    series: { labels: a.labels, meta: a.meta },
    timeMs: 1_001,
    value: 1,
    stale: false,
  });
  expect(round!.samples[1]).toMatchObject({ timeMs: 5_000, stale: true });
  expect(round!.samples[2]!.value).toBe(2);
  await first.close();
});

test('the series of a file are held in memory only while the file is written or read', async () => {
  const queue = open({ maxBytes: 32 * 2 ** 20 });
  const before = await heapAfterGc();
  for (let i = 0; i < 24; i++) {
    queue.append(sample(aSeries(`${i}`.padStart(1_000_000, 'x')), i));
    await queue.commit();
  }
  expect(((await heapAfterGc()) - before) / 2 ** 20).toBeLessThan(10);
  const values: number[] = [];
  for (let round = await queue.next(3); round; round = await queue.next(3)) {
    values.push(...valuesOf(round.samples));
    await queue.done(round);
  }
  expect([values, dropped]).toEqual([Array.from({ length: 24 }, (_, i) => i), []]);
  await queue.close();
});

test('a file that is read from its start is read once', async () => {
  const { path } = await closedFile([1, 2]);
  const spy = jest.spyOn(await fileHandles(path), 'read');
  expect(valuesOf((await open().next(100))!.samples)).toEqual([1, 2]);
  const reads = spy.mock.calls.length;
  spy.mockRestore();
  expect(reads).toBe(1);
});

test('exemplars come back with their samples, among samples without one', async () => {
  const [a, b] = [aSeries('a'), aSeries('b')];
  const exemplar = { timeMs: 900, value: 0.3, traceId: '0af7651916cd43dd8448eb211c80319c', spanId: '' };
  const first = open();
  first.append(sample(a, 1));
  first.append({ ...sample(b, 2), exemplar });
  first.append(sample(b, 3));
  await first.commit();
  first.append(sample(a, 4));
  await first.commit();
  const round = await open().next(100);
  expect(valuesOf(round!.samples)).toEqual([1, 2, 3, 4]);
  expect(round!.samples.map((s) => s.exemplar)).toEqual([undefined, exemplar, undefined, undefined]);
  await first.close();
});

test('items to send come in order, in rounds; a round that is done is not repeated, even after a restart', async () => {
  const a = aSeries('a');
  const queue = open();
  for (let i = 1; i <= 4; i++) {
    queue.append(sample(a, i));
    await queue.commit();
  }
  const first = (await queue.next(2))!;
  expect(valuesOf(first.samples)).toEqual([1, 2]);
  await queue.done(first);
  expect(valuesOf((await queue.next(10))!.samples)).toEqual([3, 4]);
  await queue.close();
  const again = open();
  const rest = (await again.next(10))!;
  expect(valuesOf(rest.samples)).toEqual([3, 4]);
  await again.done(rest);
  expect(await again.next(10)).toBeNull();
  expect(again.pendingBytes).toBe(0);
});

test('a round that was on the wire is sent again with the same content, whatever was added since', async () => {
  const a = aSeries('a');
  const queue = open();
  for (const value of [1, 2]) queue.append(sample(a, value));
  await queue.commit();
  expect(valuesOf((await queue.next(100))!.samples)).toEqual([1, 2]);
  queue.append(sample(a, 3));
  await queue.commit();
  expect(valuesOf((await queue.next(100))!.samples)).toEqual([1, 2]);
  const killed = open();
  const round = (await killed.next(100))!;
  expect(valuesOf(round.samples)).toEqual([1, 2]);
  await killed.done(round);
  expect(valuesOf((await killed.next(100))!.samples)).toEqual([3]);
  await queue.close();
});

test('a file that a kill cut short is read to its last whole record, and the later files follow', async () => {
  const a = aSeries('a');
  const queue = open();
  queue.append(sample(a, 1));
  await queue.commit();
  await queue.close();
  const file = join(
    dir,
    readdirSync(dir).find((name) => name.endsWith('.log'))!,
  );
  appendFileSync(file, Buffer.from([40, 0, 0, 0, 1, 2, 3]));
  const next = open();
  next.append(sample(a, 2));
  await next.commit();
  const round = (await next.next(100))!;
  expect(valuesOf(round.samples)).toEqual([1, 2]);
  await next.done(round);
  // The cut record was never acknowledged, so nothing is lost.
  expect(dropped).toEqual([]);
  await next.close();
});

/** Commits values one by one, closes the file, and returns its path with the offset at which each record ends. */
async function closedFile(values: readonly number[]): Promise<{ path: string; ends: number[] }> {
  const queue = open();
  const a = aSeries('a');
  const ends: number[] = [];
  const path = (): string =>
    join(
      dir,
      readdirSync(dir).find((name) => name.endsWith('.log'))!,
    );
  for (const value of values) {
    queue.append(sample(a, value));
    await queue.commit();
    ends.push(statSync(path()).size);
  }
  await queue.close();
  return { path: path(), ends };
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 0xff;
  writeFileSync(path, bytes);
}

test('after a damaged record the rest of its file is lost, and counts as one item with its size in bytes', async () => {
  const { path, ends } = await closedFile([1, 2, 3]);
  flipByte(path, ends[1]! - 1);
  const queue = open();
  queue.append(sample(aSeries('b'), 9));
  await queue.commit();
  await queue.next(100);
  const round = (await queue.next(100))!;
  expect(valuesOf(round.samples)).toEqual([1, 9]);
  expect(dropped).toEqual([]);
  await queue.done(round);
  expect(dropped).toEqual([[1, 'corrupt', ends[2]! - ends[0]!]]);
  await queue.close();
});

test('samples whose series cannot be read any more are counted one by one', async () => {
  const { path, ends } = await closedFile([1, 2, 3]);
  // The position is after the series definitions, whose record is damaged: each later sample has an unknown series.
  writeFileSync(join(dir, 'progress.json'), JSON.stringify({ done: { segment: 1, offset: ends[0] }, sending: null }));
  flipByte(path, 9);
  const queue = open();
  expect(await queue.next(100)).toBeNull();
  expect(dropped).toEqual([[2, 'corrupt', 0]]);
});

test('when a full queue drops a damaged file, its readable part counts as queue_full and the rest as corrupt', async () => {
  const { path, ends } = await closedFile([1, 2, 3]);
  flipByte(path, ends[1]! - 1);
  const queue = open({ maxBytes: 100 });
  queue.append(sample(aSeries('b'), 9));
  await queue.commit();
  expect(dropped).toEqual([
    [1, 'queue_full', 0],
    [1, 'corrupt', ends[2]! - ends[0]!],
  ]);
  await queue.close();
});

/** What all file handles inherit, for spies; the path may be that of any file. */
async function fileHandles(path: string): Promise<Pick<FileHandle, 'read'>> {
  const handle = await openFile(path);
  await handle.close();
  return Object.getPrototypeOf(handle) as Pick<FileHandle, 'read'>;
}

/** Does something when a reader has read all of a file, before it closes the file. Restore the spy that is returned. */
async function beforeClosing(path: string, act: () => Promise<void>): Promise<{ mockRestore: () => void }> {
  return jest.spyOn(await fileHandles(path), 'read').mockImplementationOnce(function (
    this: FileHandle,
    ...args: Parameters<FileHandle['read']>
  ) {
    const close = this.close.bind(this);
    this.close = () => act().then(close);
    return this.read(...args);
  } as FileHandle['read']);
}

test('a file that is completed while its end is read is read on, not taken for damaged', async () => {
  const queue = open();
  const a = aSeries('a');
  queue.append(sample(a, 1));
  await queue.commit();
  const [name] = readdirSync(dir).filter((file) => file.endsWith('.log'));
  const spy = await beforeClosing(join(dir, name!), async () => {
    queue.append(sample(a, 2));
    queue.append(sample(aSeries('x'.repeat(2_000_000)), 3));
    await queue.commit();
  });
  const round = (await queue.next(100))!;
  spy.mockRestore();
  await queue.done(round);
  expect(valuesOf([...round.samples, ...(await queue.next(100))!.samples])).toEqual([1, 2, 3]);
  expect(dropped).toEqual([]);
  await queue.close();
});

test('what a full queue drops while it is read is not sent', async () => {
  const queue = open({ maxBytes: 100 });
  queue.append(sample(aSeries('x'.repeat(100_000)), 1));
  await queue.commit();
  const [name] = readdirSync(dir).filter((file) => file.endsWith('.log'));
  const spy = await beforeClosing(join(dir, name!), async () => {
    queue.append(sample(aSeries('b'), 9));
    await queue.commit();
  });
  const round = (await queue.next(100))!;
  spy.mockRestore();
  expect(valuesOf(round.samples)).toEqual([9]);
  expect(dropped).toEqual([[1, 'queue_full', 0]]);
  await queue.done(round);
  expect(await queue.next(100)).toBeNull();
  await queue.close();
});

test('what is sent while a full queue drops its oldest file is not sent again, also by a later process', async () => {
  const queue = open({ maxBytes: 100 });
  queue.append(sample(aSeries('x'.repeat(100_000)), 1));
  await queue.commit();
  const [name] = readdirSync(dir).filter((file) => file.endsWith('.log'));
  queue.append(sample(aSeries('b'), 2));
  const sent: number[] = [];
  const spy = await beforeClosing(join(dir, name!), async () => {
    const round = (await queue.next(100))!;
    sent.push(...valuesOf(round.samples));
    await queue.done(round);
  });
  await queue.commit();
  spy.mockRestore();
  expect([sent, await queue.next(100), queue.writeError]).toEqual([[2], null, null]);
  await queue.close();
  expect(await open().next(100)).toBeNull();
});

test('a file that is sent while the full queue drops the one before it makes no disk error', async () => {
  const queue = open();
  for (const value of [1, 2]) {
    queue.append(sample(aSeries(String(value).repeat(1_500_000)), value));
    await queue.commit();
  }
  const [name] = readdirSync(dir).filter((file) => file.endsWith('.log'));
  const round = (await queue.next(100))!;
  const spy = await beforeClosing(join(dir, name!), () => queue.done(round));
  queue.setMaxBytes(2_000_000);
  await queue.commit();
  spy.mockRestore();
  expect([valuesOf(round.samples), queue.writeError, queue.bytes]).toEqual([[1, 2], null, 0]);
  await queue.close();
});

test('a lost file that a full queue drops counts as corrupt only', async () => {
  const { path } = await closedFile([1]);
  const queue = open({ maxBytes: 100 });
  rmSync(path);
  queue.append(sample(aSeries('x'.repeat(100_000)), 1));
  await queue.commit();
  expect(dropped).toEqual([[1, 'corrupt', expect.any(Number)]]);
  await queue.close();
});

test('a missing file counts as one lost item with its size in bytes, and the next file is read', async () => {
  const { path, ends } = await closedFile([1, 2]);
  const queue = open();
  rmSync(path);
  queue.append(sample(aSeries('b'), 9));
  await queue.commit();
  const round = (await queue.next(100))!;
  expect(valuesOf(round.samples)).toEqual([9]);
  await queue.done(round);
  expect(dropped).toEqual([[1, 'corrupt', ends[1]]]);
  await queue.close();
});

describe('a file that cannot be read for a while', () => {
  /** Puts a link to itself in a file's place, so that opening it fails with ELOOP, until the task is done. */
  async function unopenable(path: string, task: () => Promise<void>): Promise<void> {
    renameSync(path, `${path}.kept`);
    symlinkSync(path, path);
    await task();
    renameSync(`${path}.kept`, path);
  }

  test('is not taken for damaged: it is sent once it can be read', async () => {
    const { path } = await closedFile([1, 2]);
    const queue = open();
    queue.append(sample(aSeries('b'), 9));
    await queue.commit();
    await unopenable(path, async () => {
      expect([await queue.next(100), queue.readError]).toEqual([null, expect.stringContaining('ELOOP')]);
    });
    const round = (await queue.next(100))!;
    expect([valuesOf(round.samples), queue.readError, queue.writeError]).toEqual([[1, 2, 9], null, null]);
    await queue.done(round);
    expect(dropped).toEqual([]);
    await queue.close();
  });

  test('ends the round before it; a round that was on the wire waits until all of it can be read', async () => {
    await closedFile([1]);
    const queue = open();
    queue.append(sample(aSeries('b'), 2));
    await queue.commit();
    await queue.close();
    const path = join(dir, '00000002.log');
    const [whole, other] = [open(), open()];
    await unopenable(path, async () => {
      expect(valuesOf((await other.next(100))!.samples)).toEqual([1]);
    });
    rmSync(join(dir, 'progress.json'));
    expect(valuesOf((await whole.next(100))!.samples)).toEqual([1, 2]);
    await unopenable(path, async () => {
      expect(await whole.next(100)).toBeNull();
    });
    expect(valuesOf((await whole.next(100))!.samples)).toEqual([1, 2]);
    expect(dropped).toEqual([]);
  });

  const diskError = (code: string): Error =>
    Object.assign(new Error(`${code}: error, read`), { code, syscall: 'read' });

  test('counts as damaged after a minute of EIO also in a round on the wire that begins with another file', async () => {
    const { path } = await closedFile([1]);
    const queue = open();
    queue.append(sample(aSeries('b'), 2));
    await queue.commit();
    expect(valuesOf((await queue.next(100))!.samples)).toEqual([1, 2]);
    await queue.close();
    const next = open();
    const lost = statSync(join(dir, '00000002.log')).ino;
    const { read } = await fileHandles(path);
    const spy = jest.spyOn(await fileHandles(path), 'read').mockImplementation(async function (
      this: FileHandle,
      ...args: Parameters<FileHandle['read']>
    ) {
      if ((await this.stat()).ino === lost) throw diskError('EIO');
      return read.apply(this, args);
    } as FileHandle['read']);
    for (let i = 1; i < 60; i++) expect(await next.next(100)).toBeNull();
    const round = (await next.next(100))!;
    spy.mockRestore();
    expect(valuesOf(round.samples)).toEqual([1]);
    await next.done(round);
    expect(dropped).toEqual([[1, 'corrupt', expect.any(Number)]]);
  });

  test.each(['EIO', 'EUCLEAN', 'EBADMSG'])(
    'counts as damaged after a minute of %s, as from a bad block',
    async (code) => {
      const { path, ends } = await closedFile([1, 2]);
      const queue = open();
      queue.append(sample(aSeries('b'), 9));
      await queue.commit();
      const files = await fileHandles(path);
      const broken = diskError(code);
      const spy = jest.spyOn(files, 'read');
      for (let i = 1; i < 60; i++) {
        spy.mockRejectedValueOnce(broken);
        expect(await queue.next(100)).toBeNull();
      }
      // The sixtieth try, and the count of what is lost.
      spy.mockRejectedValueOnce(broken).mockRejectedValueOnce(broken);
      const round = (await queue.next(100))!;
      spy.mockRestore();
      expect([valuesOf(round.samples), queue.readError]).toEqual([[9], null]);
      await queue.done(round);
      expect(dropped).toEqual([[1, 'corrupt', ends[1]]]);
      await queue.close();
    },
  );

  test('has no say in what was sent: if the saved position cannot be read, the queue is not opened', async () => {
    await closedFile([1, 2]);
    const path = join(dir, 'progress.json');
    writeFileSync(path, JSON.stringify({ done: { segment: 1, offset: 0 }, sending: null }));
    await unopenable(path, async () => {
      expect(() => open()).toThrow('ELOOP');
    });
    expect(valuesOf((await open().next(100))!.samples)).toEqual([1, 2]);
  });

  test('counts as lost after a minute if it is the saved position: all files are sent again, and a later position is saved', async () => {
    await closedFile([1, 2]);
    const path = join(dir, 'progress.json');
    symlinkSync(path, path);
    expect(() => open({}, 59_999)).toThrow('ELOOP');
    const queue = open({}, 60_000);
    expect(readdirSync(dir)).not.toContain('progress.json');
    const round = (await queue.next(100))!;
    expect(valuesOf(round.samples)).toEqual([1, 2]);
    await queue.done(round);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ done: round.end, sending: null });
    await queue.close();
  });
});

test('beyond maxBytes the oldest files are dropped, and their samples are counted', async () => {
  const queue = open({ maxBytes: 300_000 });
  const series = Array.from({ length: 2_000 }, (_, i) => aSeries(`s${i}`));
  for (let round = 0; round < 30; round++) {
    for (const one of series) queue.append(sample(one, round));
    await queue.commit();
  }
  const total = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  expect(total).toBeLessThanOrEqual(300_000);
  const lost = dropped.reduce((sum, [n]) => sum + n, 0);
  expect(new Set(dropped.map(([, why]) => why))).toEqual(new Set(['queue_full']));
  let left = 0;
  const kept = new Set<number>();
  for (let next = await queue.next(8_000); next; next = await queue.next(8_000)) {
    left += next.samples.length;
    for (const value of valuesOf(next.samples)) kept.add(value);
    await queue.done(next);
  }
  expect(lost + left).toBe(60_000);
  // The newest rounds are left, each once.
  const oldest = Math.min(...kept);
  expect(oldest).toBeGreaterThan(0);
  expect([...kept].toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 - oldest }, (_, i) => oldest + i));
  await queue.close();
});

test('a smaller bound drops the oldest files at once, and counts their samples', async () => {
  const queue = open();
  for (const value of [1, 2, 3]) {
    queue.append(sample(aSeries(String(value).repeat(1_500_000)), value));
    await queue.commit();
  }
  expect(dropped).toEqual([]);
  queue.setMaxBytes(2_000_000);
  await queue.commit();
  expect(dropped).toEqual([
    [1, 'queue_full', 0],
    [1, 'queue_full', 0],
  ]);
  expect(queue.bytes).toBeLessThan(2_000_000);
  queue.setMaxBytes(1_000_000);
  queue.append(sample(aSeries('b'), 4));
  await queue.commit();
  const round = (await queue.next(10))!;
  expect(valuesOf(round.samples)).toEqual([4]);
  await queue.close();
});

test('a histogram is never split, and spans and samples come in separate rounds', async () => {
  const queue = open();
  for (let i = 0; i < 60; i++) {
    const group = Array.from({ length: 20 }, (_, at) => aSeries(`h${i}_${at}`, `g${i}`));
    for (const one of group) queue.append(sample(one, i));
  }
  queue.appendSpan(Uint8Array.of(1, 2, 3));
  await queue.commit();
  const first = (await queue.next(1))!;
  expect(first.samples.length % 20).toBe(0);
  expect(first.samples.length).toBeLessThan(1_200);
  await queue.done(first);
  const rest = (await queue.next(10_000))!;
  expect([first.samples.length + rest.samples.length, rest.spans.length]).toEqual([1_200, 0]);
  await queue.done(rest);
  expect((await queue.next(10))!.spans).toEqual([Uint8Array.of(1, 2, 3)]);
  await queue.close();
});

describe('with large items', () => {
  const large = { maxBytes: 1e9 };
  const lengthOf = (spans: readonly Uint8Array[]): number => spans.reduce((sum, span) => sum + span.length, 0);

  test('spans that are long together come back in rounds of a few megabytes', async () => {
    const queue = open(large);
    for (let i = 0; i < 200; i++) queue.appendSpan(Buffer.alloc(120_000, i));
    await queue.commit();
    const first: number[] = [];
    for (let round = await queue.next(8_000); round; round = await queue.next(8_000)) {
      expect(lengthOf(round.spans)).toBeLessThan(6 * 2 ** 20);
      first.push(...round.spans.map((span) => span[0]!));
      await queue.done(round);
    }
    expect(first).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(dropped).toEqual([]);
    await queue.close();
  });

  test('new series whose definitions are long together come back', async () => {
    const queue = open(large);
    for (let i = 0; i < 60; i++) queue.append(sample(aSeries(`${i}`.padStart(300_000, 'x')), i));
    await queue.commit();
    expect(valuesOf((await queue.next(8_000))?.samples)).toEqual(Array.from({ length: 60 }, (_, i) => i));
    await queue.close();
  });

  test('an item that no record can hold is counted, and the others come back', async () => {
    const queue = open(large);
    const endless = aSeries('x'.repeat(2 ** 24));
    for (const value of [1, 2]) queue.append(sample(endless, value));
    queue.append(sample(aSeries('a'), 3));
    queue.appendSpan(new Uint8Array(2 ** 24));
    queue.appendSpan(Uint8Array.of(7));
    await queue.commit();
    expect(dropped).toEqual([[3, 'too_large', 0]]);
    const first = (await queue.next(8_000))!;
    expect(valuesOf(first.samples)).toEqual([3]);
    await queue.done(first);
    expect((await queue.next(8_000))!.spans).toEqual([Uint8Array.of(7)]);
    await queue.close();
  });

  test('one histogram at very many times is split between two of them', async () => {
    const queue = open(large);
    const parts = Array.from({ length: 3_000 }, (_, at) => aSeries(`h_${at}`, 'g'));
    for (let time = 0; time < 10; time++) for (const one of parts) queue.append(sample(one, time));
    await queue.commit();
    expect(valuesOf((await queue.next(1))!.samples)).toEqual(parts.flatMap(() => [0, 1, 2, 3, 4, 5, 6]).toSorted());
    await queue.close();
  });

  test('what waits in memory is bounded; the rest is dropped and counted, but no histogram is split', async () => {
    const queue = open(large);
    for (let i = 0; i < 31; i++) queue.appendSpan(new Uint8Array(2 ** 20));
    const histogram = (name: string) => Array.from({ length: 10_000 }, (_, at) => aSeries(`${name}_${at}`, name));
    const [whole, cut, after] = ['a', 'b', 'c'].map(histogram);
    for (const one of [...whole!, ...cut!, ...after!]) queue.append(sample(one, 1));
    queue.appendSpan(Uint8Array.of(1));
    const written = queue.commit();
    // Nothing is taken while the first items are still being written.
    queue.append(sample(aSeries('d'), 1));
    await written;
    expect(dropped).toEqual([[10_001, 'disk', 0]]);
    await queue.commit();
    expect(dropped[1]).toEqual([1, 'disk', 0]);
    queue.append(sample(aSeries('e'), 1));
    await queue.commit();
    const rounds: number[] = [];
    for (let round = await queue.next(1e6); round; round = await queue.next(1e6)) {
      rounds.push(round.samples.length);
      await queue.done(round);
    }
    expect(rounds.reduce((sum, count) => sum + count)).toBe(20_001);
    expect(dropped).toHaveLength(2);
    await queue.close();
  });
});

test('a disk error drops the samples and is reported; writing goes on when the disk works again', async () => {
  const queue = open();
  const a = aSeries('a');
  rmSync(dir, { recursive: true });
  queue.append(sample(a, 1));
  await queue.commit();
  expect(dropped).toEqual([[1, 'disk', 0]]);
  expect(queue.writeError).toContain('ENOENT');
  mkdirSync(dir);
  queue.append(sample(a, 2));
  await queue.commit();
  expect([queue.writeError, dropped.length, valuesOf((await open().next(100))?.samples)]).toEqual([null, 1, [2]]);
  await queue.close();
});

test('on a full disk, commits that fail leave no files behind, and what is sent later is whole', async () => {
  const queue = open();
  for (const number of [1, 2, 3]) symlinkSync('/dev/full', join(dir, `0000000${number}.log`));
  const a = aSeries('a');
  for (const value of [1, 2, 3]) {
    queue.append(sample(a, value));
    await queue.commit();
  }
  expect([dropped.length, queue.writeError]).toEqual([3, expect.stringContaining('ENOSPC')]);
  expect(readdirSync(dir).filter((name) => name.endsWith('.log'))).toEqual([]);
  queue.append(sample(a, 4));
  await queue.commit();
  const round = (await queue.next(100))!;
  expect([valuesOf(round.samples), round.end.segment, queue.writeError]).toEqual([[4], 4, null]);
  await queue.close();
});

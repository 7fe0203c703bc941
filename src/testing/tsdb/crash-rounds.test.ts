import { expect, test } from '@jest/globals';
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { openStore, type Store } from '../../tsdb/index.ts';
import { checkAll } from './crash-rounds.ts';
import { crashHistogram, crashHistogramSeries, crashSeries, crashTime, crashValue } from './crash-writer.ts';

const open = (dir: string): Promise<Store> => {
  const clock = { ...systemClock, now: () => crashTime(10) };
  return openStore({ dir, clock, logger: silentLogger, retentionMs: 1e12 });
};

async function write(store: Store, ...numbers: readonly number[]): Promise<void> {
  for (const n of numbers) {
    for (const [s, labels] of crashSeries.entries()) store.append(labels, crashTime(n), crashValue(s, n));
    store.appendHistogram(crashHistogramSeries, crashTime(n), crashHistogram(n));
  }
  await store.commit();
}

test('an interrupted commit may keep its histograms and lose its floats, but no acknowledged sample may be lost', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'crash-rounds-'));
  try {
    const killed = await open(dir);
    await write(killed, 0, 1, 2);
    await write(killed, 3, 4, 5);
    // The log is as a kill in the middle of the second write leaves it: without its end, where the floats are.
    const log = join(dir, 'wal/00000001');
    const written = await readFile(log);
    await killed.close();
    await truncate(log, written.length - 1);

    const store = await open(dir);
    const newest = checkAll(store, 2);
    expect(newest).toBe(5);
    await write(store, 6, 7, 8);
    expect(() => checkAll(store, 8)).toThrow('lost or wrong');
    expect(checkAll(store, 8, new Set([3, 4, 5]))).toBe(8);
    expect(() => checkAll(store, 8, new Set([3, 4]))).toThrow('sample 5');
    await store.close();
  } finally {
    await rm(dir, { recursive: true });
  }
});

import { cp, rm } from 'node:fs/promises';
import { silentLogger } from '../../src/base/logger.ts';
import { openStore } from '../../src/tsdb/index.ts';
import type { Matcher, SeriesRef, Store } from '../../src/tsdb/index.ts';
import { agentValue, benchStart, makeSeries, standingClock, stepMs } from './series.ts';
import { best, heapBytes, progress, report } from './report.ts';

/** A head of two hours: heap, selects, and how long the next start takes after a clean end and after a crash. */
export async function benchHead(dir: string, quick: boolean): Promise<void> {
  const count = quick ? 2_000 : 50_000;
  const scrapes = quick ? 60 : 240;
  const size = `${count}-series`;
  const end = benchStart + scrapes * stepMs;
  const options = { dir, clock: standingClock(end), logger: silentLogger, checkpointBytes: Infinity };
  const labels = makeSeries(count);
  let store = await openStore(options);
  const series = labels.map((one): SeriesRef => ({ labels: one, slot: -1 }));
  const before = heapBytes();
  progress(`appending ${count} series x ${scrapes} scrapes`);
  for (let k = 0; k < scrapes; k++) {
    for (let i = 0; i < count; i++) store.append(series[i]!, benchStart + k * stepMs, agentValue(i, k));
    await store.commit();
  }
  const perSeries = (heapBytes() - before) / count;
  report(`head/${size}/${scrapes}-samples/heap-per-series`, 'B', perSeries, {
    goal: { value: 1536, of: 'value', atMost: true },
  });
  report(`wal/${size}/bytes-per-sample`, 'B', store.stats().walBytes / (count * scrapes));
  const one: Matcher[] = [{ type: '=', name: 'instance', value: String(count >> 1) }];
  const many: Matcher[] = [{ type: '=~', name: 'service_name', value: '.*-7' }];
  report(`select/${size}/one/best`, 'ms', 1000 * (await best(50, () => drain(store, one))));
  report(`select/${size}/${drain(store, many)}-by-regex/best`, 'ms', 1000 * (await best(9, () => drain(store, many))));
  report(`select/${size}/all/best`, 'ms', 1000 * (await best(3, () => drain(store, []))));
  progress('opening');
  const crashed = await openAfter(options, store, false);
  report(`open/${size}/after-a-crash/whole-log`, 's', crashed.seconds);
  report(`open/${size}/after-a-crash/samples-per-second`, 'samples/s', (count * scrapes) / crashed.seconds);
  store = crashed.store;
  const clean = await openAfter(options, store, true);
  report(`open/${size}/after-a-clean-end`, 's', clean.seconds, { goal: { value: 5, of: 'value', atMost: true } });
  await clean.store.close();
  await rm(dir, { recursive: true, force: true });
}

/** Reads every chunk; returns how many series there were. */
function drain(store: Store, matchers: readonly Matcher[]): number {
  let series = 0;
  for (const found of store.select(matchers, 0, Infinity)) if (found.chunks().length > 0) series++;
  return series;
}

type Options = Parameters<typeof openStore>[0];

/** A crash is a copy of the files as they are, with the log whole; the clean end leaves a checkpoint. */
async function openAfter(options: Options, store: Store, clean: boolean): Promise<{ store: Store; seconds: number }> {
  let dir = options.dir;
  if (!clean) {
    dir = `${options.dir}-crashed`;
    await cp(options.dir, dir, { recursive: true, filter: (path) => !path.endsWith('/lock') });
    await store.close();
    await rm(options.dir, { recursive: true, force: true });
    await cp(dir, options.dir, { recursive: true });
    await rm(dir, { recursive: true, force: true });
  } else await store.close();
  const from = performance.now();
  const opened = await openStore(options);
  return { store: opened, seconds: (performance.now() - from) / 1000 };
}

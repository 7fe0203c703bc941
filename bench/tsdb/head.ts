import { cp, rm } from 'node:fs/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLogger } from '../../src/base/logger.ts';
import { openStore } from '../../src/tsdb/index.ts';
import type { Matcher, SeriesRef, Store } from '../../src/tsdb/index.ts';
import type { Stage } from '../run/bench.ts';
import { allCores } from '../run/cores.ts';
import type { Goal } from '../run/figure.ts';
import type { StoreWork } from './programs.ts';
import { agentValue, benchStart, makeSeries, standingClock, stepMs } from './series.ts';

/** The results of one run; times of opening are in seconds. */
interface Head {
  readonly heapPerSeries: number;
  readonly walBytesPerSample: number;
  readonly selectOneMs: number;
  readonly selectByRegexMs: number;
  readonly selectAllMs: number;
  readonly openAfterCrash: number;
  readonly openAfterCleanEnd: number;
}

/**
 * Measures a store whose head (the samples in memory) covers an hour or more: its heap, selects, and the time to open
 * it after a clean end and after a crash.
 */
export async function benchHead({ runs, say, reporter }: Stage, { dir, series, scrapes }: StoreWork): Promise<void> {
  const heads: Head[] = [];
  for (let run = 0; run < runs; run++) {
    say(`head: ${series} series x ${scrapes} scrapes, run ${run + 1} of ${runs}`);
    heads.push(await measure(dir, series, scrapes));
  }
  const report = reporter({
    cores: allCores('the store, in the process of the benchmark'),
    caches: 'a select is the second of two; files in the page cache when the store opens',
  });
  const emit = (name: string, unit: string, of: keyof Head, goal?: Goal): void =>
    report({ name, unit, ours: heads.map((head) => head[of]), goal });
  const size = `${series}-series`;
  emit(`head/${size}/${scrapes}-samples/heap-per-series`, 'B', 'heapPerSeries', { of: 'ours', atMost: 1536 });
  emit(`wal/${size}/bytes-per-sample`, 'B', 'walBytesPerSample');
  emit(`select/${size}/one`, 'ms', 'selectOneMs');
  emit(`select/${size}/a-fiftieth-by-regex`, 'ms', 'selectByRegexMs');
  emit(`select/${size}/all`, 'ms', 'selectAllMs');
  emit(`open/${size}/${scrapes}-samples/after-a-crash/whole-log`, 's', 'openAfterCrash');
  emit(`open/${size}/${scrapes}-samples/after-a-clean-end`, 's', 'openAfterCleanEnd', { of: 'ours', atMost: 5 });
}

async function measure(dir: string, count: number, scrapes: number): Promise<Head> {
  const end = benchStart + scrapes * stepMs;
  const options = { dir, clock: standingClock(end), logger: silentLogger, checkpointBytes: Infinity };
  const labels = makeSeries(count);
  const store = await openStore(options);
  const series = labels.map((one): SeriesRef => ({ labels: one, slot: -1 }));
  const before = heapBytes();
  for (let k = 0; k < scrapes; k++) {
    for (let i = 0; i < count; i++) store.append(series[i]!, benchStart + k * stepMs, agentValue(i, k));
    await store.commit();
  }
  const heapPerSeries = (heapBytes() - before) / count;
  const walBytesPerSample = store.stats().walBytes / (count * scrapes);
  const selects = [
    secondMs(() => drain(store, [{ type: '=', name: 'instance', value: String(count >> 1) }])),
    secondMs(() => drain(store, [{ type: '=~', name: 'service_name', value: '.*-7' }])),
    secondMs(() => drain(store, [])),
  ];
  const crashed = await openAfter(options, store, false);
  const clean = await openAfter(options, crashed.store, true);
  await clean.store.close();
  await rm(dir, { recursive: true, force: true });
  return {
    ...{ heapPerSeries, walBytesPerSample },
    ...{ selectOneMs: selects[0]!, selectByRegexMs: selects[1]!, selectAllMs: selects[2]! },
    ...{ openAfterCrash: crashed.seconds, openAfterCleanEnd: clean.seconds },
  };
}

/** Runs the work twice and returns the time of the second run; the first warms up code and data. Units: ms. */
function secondMs(work: () => void): number {
  work();
  const from = performance.now();
  work();
  return performance.now() - from;
}

/** Reads every chunk of the matching series. */
function drain(store: Store, matchers: readonly Matcher[]): void {
  for (const found of store.select(matchers, 0, Infinity)) found.chunks();
}

type StoreOptions = Parameters<typeof openStore>[0];

/**
 * Ends the store, opens it again and times the opening. If `clean` is false, the end is a crash: the store is opened
 * from a copy of the files that it had while it was open, with its whole log.
 */
async function openAfter(
  options: StoreOptions,
  store: Store,
  clean: boolean,
): Promise<{ store: Store; seconds: number }> {
  if (clean) await store.close();
  else {
    const copy = `${options.dir}-crashed`;
    await cp(options.dir, copy, { recursive: true, filter: (path) => !path.endsWith('/lock') });
    await store.close();
    await rm(options.dir, { recursive: true, force: true });
    await cp(copy, options.dir, { recursive: true });
    await rm(copy, { recursive: true, force: true });
  }
  const from = performance.now();
  const opened = await openStore(options);
  return { store: opened, seconds: (performance.now() - from) / 1000 };
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of objects and typed arrays after a garbage collection. */
export function heapBytes(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger } from '../../src/base/logger.ts';
import { labelsFromObject, openStore } from '../../src/tsdb/index.ts';
import type { Labels, SeriesRef } from '../../src/tsdb/index.ts';
import { agentValue, benchStart, standingClock, stepMs } from './series.ts';
import { heapBytes, progress, report } from './report.ts';

/**
 * A long life in short: `--minutes N` (default 30) of scrapes without pause, so that hours of samples pass in a minute.
 * A fifth of the series is replaced every ten minutes of samples; blocks are written, merged and removed, and all
 * series are read again and again. Ends with 1 when heap or resident memory grew from the middle third to the last.
 */
const minutes = Number(process.argv[process.argv.indexOf('--minutes') + 1] || 30);
const count = 2_000;
const churnEvery = 20;
const readEvery = 50;
/** Power loss is not what is soaked here: a disk flush for every scrape would be most of the time. */
const commitEvery = 10;
const maintainEvery = 40;
/** Growth that is noise: collections and page caches come when they come. */
const allowed = 1.1;

const dir = await mkdtemp(join(tmpdir(), 'svc-soak-'));
let now = benchStart;
const clock = { ...standingClock(0), now: () => now };
const store = await openStore({ dir, clock, logger: silentLogger, retentionMs: 6 * 3_600_000 });
const series = Array.from({ length: count }, (_, i): SeriesRef => ({ labels: fresh(i, 0), slot: -1 }));
const heap: number[] = [];
const resident: number[] = [];
const end = performance.now() + minutes * 60_000;
let nextLook = performance.now();
let scrapes = 0;
let read = 0;
for (; performance.now() < end; scrapes++) {
  now += stepMs;
  if (scrapes % churnEvery === churnEvery - 1) {
    const first = (scrapes % 5) * (count / 5);
    for (let i = first; i < first + count / 5; i++) {
      store.appendStale(series[i]!, now);
      series[i] = { labels: fresh(i, scrapes), slot: -1 };
    }
  }
  for (let i = 0; i < count; i++) store.append(series[i]!, now, agentValue(i, scrapes));
  if (scrapes % commitEvery === 0) await store.commit();
  if (scrapes % maintainEvery === 0) await store.maintain();
  if (scrapes % readEvery === 0) {
    for (const series of store.select([], now - 3 * 3_600_000, now)) {
      for (const { count: n } of series.chunks()) read += n;
    }
  }
  await pause(0);
  if (performance.now() < nextLook) continue;
  nextLook += (minutes * 60_000) / 90;
  heap.push(heapBytes());
  resident.push(process.memoryUsage.rss());
  const { blocks, series: live } = store.stats();
  progress(`${scrapes} scrapes, ${live} series, ${blocks} blocks, heap ${mib(heap)} MiB, rss ${mib(resident)} MiB`);
}
await store.close();
await rm(dir, { recursive: true, force: true });
report(`soak/${count}-series/20%-churn/scrapes`, 'scrapes', scrapes);
report(`soak/${count}-series/20%-churn/samples-read`, 'samples', read);
const flat = [judge('heap', heap), judge('rss', resident)];
process.exitCode = flat.every(Boolean) ? 0 : 1;

/** New names for a series, as a new pod brings them. */
function fresh(i: number, generation: number): Labels {
  return labelsFromObject({
    __name__: `metric_${i % 20}`,
    k8s_pod_name: `pod-${i % 200}-${generation}`,
    service_name: `service-${i % 50}`,
    instance: `${i}-${generation}`,
  });
}

function judge(name: string, values: readonly number[]): boolean {
  const third = Math.floor(values.length / 3);
  const mean = (from: number, to: number): number =>
    values.slice(from, to).reduce((sum, value) => sum + value, 0) / Math.max(1, to - from);
  const growth = mean(2 * third, values.length) / mean(third, 2 * third);
  report(`soak/${count}-series/20%-churn/${name}-growth`, 'ratio', growth, {
    goal: { value: allowed, of: 'value', atMost: true },
  });
  return growth <= allowed;
}

function mib(values: readonly number[]): number {
  return Math.round(values.at(-1)! / 2 ** 20);
}

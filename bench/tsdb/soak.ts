import { setTimeout as pause } from 'node:timers/promises';
import { silentLogger } from '../../src/base/logger.ts';
import { labelsFromObject, openStore } from '../../src/tsdb/index.ts';
import type { Labels, SeriesRef } from '../../src/tsdb/index.ts';
import { bench } from '../run/bench.ts';
import type { Stage } from '../run/bench.ts';
import { allCores } from '../run/cores.ts';
import { mean } from '../run/spread.ts';
import { heapBytes } from './head.ts';
import { agentValue, benchStart, standingClock, stepMs } from './series.ts';

const count = 2_000;
const churnEvery = 20;
const readEvery = 50;
/** Not every scrape is synced to the disk: that would take most of the time, and power loss is not tested here. */
const commitEvery = 10;
const maintainEvery = 40;
/** Growth of memory up to this factor counts as noise: garbage collections and page caches vary. */
const allowed = 1.1;

await bench(
  {
    name: 'soak:tsdb',
    measures:
      'The life of a store, sped up: scrapes without pause, so that hours of samples pass in a minute. A fifth of the series\n' +
      'is replaced every ten minutes of samples; blocks are written, merged and removed, and all series are read repeatedly.\n' +
      'Fails if heap or resident memory grew from the middle third of the run to its last third. There is one run.',
    options: { minutes: { kind: 'number', value: 30, quick: 1, help: 'how long' } },
  },
  async (stage) => {
    const { heap, resident, scrapes, read } = await live(stage, stage.flags.minutes);
    const report = stage.reporter({ cores: allCores('the store, alone'), caches: 'warm' });
    const name = `soak/${count}-series/20%-churn`;
    report({ name: `${name}/scrapes`, unit: 'scrapes', ours: [scrapes] });
    report({ name: `${name}/samples-read`, unit: 'samples', ours: [read] });
    for (const [what, values] of Object.entries({ heap, resident })) {
      const grown = growth(values);
      const goal = { of: 'ours', atMost: allowed } as const;
      report({ name: `${name}/${what}-growth`, unit: 'ratio', ours: [grown], goal });
      if (grown > allowed) stage.fail(`${what} grew by a factor of ${grown.toFixed(2)}, more than ${allowed}`);
    }
  },
);

interface Life {
  readonly heap: readonly number[];
  readonly resident: readonly number[];
  readonly scrapes: number;
  readonly read: number;
}

async function live({ folder, say }: Stage, minutes: number): Promise<Life> {
  let now = benchStart;
  const clock = { ...standingClock(0), now: () => now, monotonic: () => now };
  const store = await openStore({ dir: folder(), clock, logger: silentLogger, retentionMs: 6 * 3_600_000 });
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
      for (const found of store.select([], now - 3 * 3_600_000, now)) {
        for (const { count: n } of found.chunks()) read += n;
      }
    }
    await pause(0);
    if (performance.now() < nextLook) continue;
    nextLook += (minutes * 60_000) / 90;
    heap.push(heapBytes());
    resident.push(process.memoryUsage.rss());
    const { blocks, series: alive } = store.stats();
    say(`${scrapes} scrapes, ${alive} series, ${blocks} blocks, heap ${mib(heap)} MiB, rss ${mib(resident)} MiB`);
  }
  await store.close();
  return { heap, resident, scrapes, read };
}

/** New labels for a series, as a new pod brings them. */
function fresh(i: number, generation: number): Labels {
  return labelsFromObject({
    __name__: `metric_${i % 20}`,
    k8s_pod_name: `pod-${i % 200}-${generation}`,
    service_name: `service-${i % 50}`,
    instance: `${i}-${generation}`,
  });
}

/** The mean of the last third divided by the mean of the middle third. */
function growth(values: readonly number[]): number {
  const third = Math.max(1, Math.floor(values.length / 3));
  return mean(values.slice(-third)) / mean(values.slice(-2 * third, -third));
}

function mib(values: readonly number[]): number {
  return Math.round(values.at(-1)! / 2 ** 20);
}

/**
 * Appends the series of bench:tsdb to our store and prints one JSON object, as `peer/ingest` does with Prometheus'
 * store.
 * Arguments: directory, series, scrapes.
 */
import { silentLogger } from '../../src/base/logger.ts';
import { openStore } from '../../src/tsdb/index.ts';
import type { SeriesRef } from '../../src/tsdb/index.ts';
import { agentValue, benchStart, maintainEvery, makeSeries, stepMs } from './series.ts';

const [dir = '', count, scrapes] = process.argv.slice(2);
let now = benchStart;
const clock = { now: () => now, monotonic: () => performance.now(), setTimeout: () => () => {} };
const store = await openStore({ dir, clock, logger: silentLogger });
const series = makeSeries(Number(count)).map((labels): SeriesRef => ({ labels, slot: -1 }));
const cpu = process.cpuUsage();
const from = performance.now();
for (let k = 0; k < Number(scrapes); k++) {
  now = benchStart + k * stepMs;
  for (let i = 0; i < series.length; i++) store.append(series[i]!, now, agentValue(i, k));
  await store.commit();
  if (k % maintainEvery === maintainEvery - 1) await store.maintain();
}
const { user, system } = process.cpuUsage(cpu);
const seconds = (performance.now() - from) / 1000;
await store.close();
process.stdout.write(`${JSON.stringify({ cpuSeconds: (user + system) / 1e6, seconds })}\n`);

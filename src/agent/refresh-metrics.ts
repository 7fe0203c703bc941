import type { Store } from '../tsdb/index.ts';
import { instrumentSum } from './capture/capture-facts.ts';
import type { CaptureState } from './capture/capture-state.ts';
import { residentMemory } from './capture/instrument-memory.ts';
import type { SeriesMapper } from './mapping/mapper.ts';
import { showConfig, type SelfMetrics } from './self-metrics.ts';

/** The sources of the metrics whose values are read on demand, and not counted as they change. */
export interface StateSources {
  readonly mapper: SeriesMapper;
  readonly metrics: SelfMetrics;
  readonly store: Pick<Store, 'stats'>;
  readonly capture: Pick<CaptureState, 'instrument' | 'generations' | 'ack'>;
}

/** Refreshes the agent's gauges before they are read, by a scrape or for the store. */
export async function refreshMetrics({ mapper, metrics, store, capture }: StateSources): Promise<void> {
  const stats = store.stats();
  metrics.tsdbSeries.set(stats.series);
  setCounter(metrics.tsdbSamples, stats.samplesAppended);
  metrics.tsdbBytes.set(stats.blockBytes);
  metrics.tsdbWalBytes.set(stats.walBytes);
  metrics.tsdbHeadBytes.set(stats.headChunkBytes);
  setCounter(metrics.tsdbQuarantined, stats.quarantinedBlocks);
  setGauge(metrics.tsdbOldest, stats.oldestMs === undefined ? null : stats.oldestMs / 1_000);
  metrics.agentMemory.set(process.memoryUsage.rss());
  metrics.seriesLimit.set(mapper.limits.maxNodeSeries);
  const { up, restarts, gapMs, process: running } = capture.instrument;
  metrics.instrumentUp.set(up ? 1 : 0);
  setCounter(metrics.instrumentRestarts, restarts);
  const answering = up ? running : null;
  setGauge(metrics.instrumentStart, answering && answering.startMs / 1_000);
  if (gapMs !== null) metrics.instrumentGap.set(gapMs / 1_000);
  const { desired, running: inForce } = capture.generations;
  metrics.configGeneration.set({ state: 'desired' }, desired);
  metrics.configGeneration.set({ state: 'running' }, inForce);
  setGauge(metrics.instrumentAvoided, answering && (instrumentSum(mapper, '_avoided_services') ?? 0));
  setGauge(metrics.instrumentMemory, await residentMemory(answering && answering.pid));
  showConfig(metrics, capture.ack);
}

/** Sets a gauge without labels. Null takes it off the page, where its last value would look like a current one. */
function setGauge(gauge: SelfMetrics['agentMemory'], value: number | null): void {
  if (value === null) gauge.remove();
  else gauge.set(value);
}

/** Sets a counter to a count that is kept elsewhere. */
function setCounter(counter: SelfMetrics['tsdbSamples'], value: number): void {
  counter.reset();
  counter.inc(value);
}

import type { Store } from '../../tsdb/index.ts';
import { instrumentSum } from '../capture/capture-facts.ts';
import type { CaptureState } from '../capture/capture-state.ts';
import { residentMemory } from '../capture/instrument-memory.ts';
import { capturedFamilies } from '../exposition/captured.ts';
import type { ExpositionFormat } from '../exposition/negotiate.ts';
import { ownFamilies } from '../exposition/own.ts';
import { writePage } from '../exposition/page.ts';
import type { SeriesMapper } from '../mapping/mapper.ts';
import { showConfig, type SelfMetrics } from '../self-metrics.ts';

/** Where the page's figures come from. */
export interface PageSources {
  readonly mapper: SeriesMapper;
  readonly metrics: SelfMetrics;
  readonly store: Pick<Store, 'stats'>;
  readonly capture: Pick<CaptureState, 'instrument' | 'generations' | 'ack'>;
}

/** The page of `/metrics` in chunks: what was captured, then what the agent says of itself, as it is now. */
export async function* agentPage(
  format: ExpositionFormat,
  { mapper, metrics, store, capture }: PageSources,
): AsyncGenerator<Uint8Array> {
  const stats = store.stats();
  metrics.tsdbSeries.set(stats.series);
  setCounter(metrics.tsdbSamples, stats.samplesAppended);
  metrics.tsdbBytes.set(stats.blockBytes);
  metrics.tsdbWalBytes.set(stats.walBytes);
  metrics.tsdbHeadBytes.set(stats.headChunkBytes);
  setCounter(metrics.tsdbQuarantined, stats.quarantinedBlocks);
  if (stats.oldestMs !== undefined) metrics.tsdbOldest.set(stats.oldestMs / 1_000);
  const { up, restarts, gapMs, process } = capture.instrument;
  metrics.instrumentUp.set(up ? 1 : 0);
  setCounter(metrics.instrumentRestarts, restarts);
  if (process) metrics.instrumentStart.set(process.startMs / 1_000);
  if (gapMs !== null) metrics.instrumentGap.set(gapMs / 1_000);
  const { desired, running } = capture.generations;
  metrics.configGeneration.set({ state: 'desired' }, desired);
  metrics.configGeneration.set({ state: 'running' }, running);
  metrics.instrumentAvoided.set(instrumentSum(mapper, '_avoided_services') ?? 0);
  const instrumentBytes = await residentMemory(up && process ? process.pid : null);
  if (instrumentBytes !== null) metrics.instrumentMemory.set(instrumentBytes);
  showConfig(metrics, capture.ack);
  const own = await ownFamilies(metrics.registry);
  yield* writePage([...capturedFamilies(mapper.table.families.values(), format), ...own], format);
}

/** Shows a count that is kept elsewhere. */
function setCounter(counter: SelfMetrics['tsdbSamples'], value: number): void {
  counter.reset();
  counter.inc(value);
}

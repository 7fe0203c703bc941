import { capturedFamilies } from '../exposition/captured.ts';
import type { ExpositionFormat } from '../exposition/negotiate.ts';
import { ownFamilies } from '../exposition/own.ts';
import { writePage } from '../exposition/page.ts';
import { refreshMetrics, type StateSources } from '../refresh-metrics.ts';

/**
 * Writes the page of `/metrics` in chunks: the captured series, then the agent's own metrics, as they are now. A chunk is
 * valid until the next one is asked for.
 */
export async function* agentPage(format: ExpositionFormat, sources: StateSources): AsyncGenerator<Uint8Array> {
  await refreshMetrics(sources);
  const { mapper, metrics } = sources;
  const own = await ownFamilies(metrics.registry);
  yield* writePage([...capturedFamilies(mapper.table.families.values(), format), ...own], format);
}

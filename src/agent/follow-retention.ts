import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { builtinRetention, type CaptureConfig } from '../capture/index.ts';
import type { Store } from '../tsdb/index.ts';
import type { AgentSettings } from './settings.ts';

/**
 * Holds the store to the retention of each config that comes into force; a change is carried out at once, not with
 * the store's next round of housekeeping.
 */
export function followRetention(
  store: Pick<Store, 'setRetention' | 'maintain'>,
  settings: Pick<AgentSettings, 'retentionTime' | 'retentionSize'>,
  logger: Logger,
): (config: Pick<CaptureConfig, 'retention'>) => void {
  let inForce = { ms: settings.retentionTime, bytes: settings.retentionSize };
  return (config) => {
    const { ms, bytes } = metricsRetention(settings, config);
    if (ms === inForce.ms && bytes === inForce.bytes) return;
    inForce = { ms, bytes };
    store.setRetention(inForce);
    logger.info('retention of series changed', { ms, bytes });
    void store
      .maintain()
      .catch((error: unknown) => logger.error('store: maintenance failed', { error: errorText(error) }));
  };
}

/** What the flags say, unless a policy says otherwise: the built-in values of a config mean that none does. */
function metricsRetention(
  settings: Pick<AgentSettings, 'retentionTime' | 'retentionSize'>,
  { retention: { metrics } }: Pick<CaptureConfig, 'retention'>,
): { ms: number; bytes: number } {
  const { timeMs, sizeBytes } = builtinRetention.metrics;
  return {
    ms: metrics.timeMs === timeMs ? settings.retentionTime : metrics.timeMs,
    bytes: metrics.sizeBytes === sizeBytes ? settings.retentionSize : metrics.sizeBytes,
  };
}

import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { CaptureConfig } from '../capture/index.ts';
import type { Store } from '../tsdb/index.ts';
import type { AgentSettings } from './settings.ts';

/**
 * Gives the store the retention of each config that comes into force. The agent's flags apply where a config sets none.
 * A change takes effect immediately, not with the store's next housekeeping.
 */
export function followRetention(
  store: Pick<Store, 'setRetention' | 'maintain'>,
  settings: Pick<AgentSettings, 'retentionTime' | 'retentionSize'>,
  logger: Logger,
): (config: Pick<CaptureConfig, 'retention'>) => void {
  let inForce = { ms: settings.retentionTime, bytes: settings.retentionSize };
  return ({ retention: { metrics } }) => {
    const ms = metrics.timeMs ?? settings.retentionTime;
    const bytes = metrics.sizeBytes ?? settings.retentionSize;
    if (ms === inForce.ms && bytes === inForce.bytes) return;
    inForce = { ms, bytes };
    store.setRetention(inForce);
    logger.info('retention of series changed', { ms, bytes });
    void store
      .maintain()
      .catch((error: unknown) => logger.error('store: maintenance failed', { error: errorText(error) }));
  };
}

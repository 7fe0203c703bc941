import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { CaptureConfig } from '../capture/index.ts';
import type { Store } from '../tsdb/index.ts';
import type { AgentSettings } from './settings.ts';

type Flags = Pick<AgentSettings, 'retentionTime' | 'retentionSize'>;

/** The retention of a config's series. The agent's flags apply where the config sets none. */
export function retentionOf(
  { timeMs, sizeBytes }: CaptureConfig['retention']['metrics'],
  flags: Flags,
): { readonly ms: number; readonly bytes: number } {
  return { ms: timeMs ?? flags.retentionTime, bytes: sizeBytes ?? flags.retentionSize };
}

/**
 * Gives the store the retention of each config that comes into force. `inForce` is the one that the store has. A change
 * takes effect immediately, not with the store's next housekeeping.
 */
export function followRetention(
  store: Pick<Store, 'setRetention' | 'maintain'>,
  flags: Flags,
  inForce: { readonly ms: number; readonly bytes: number },
  logger: Logger,
): (config: Pick<CaptureConfig, 'retention'>) => void {
  let { ms, bytes } = inForce;
  return ({ retention: { metrics } }) => {
    const next = retentionOf(metrics, flags);
    if (next.ms === ms && next.bytes === bytes) return;
    ({ ms, bytes } = next);
    store.setRetention({ ms, bytes });
    logger.info('retention of series changed', { ms, bytes });
    void store
      .maintain()
      .catch((error: unknown) => logger.error('store: maintenance failed', { error: errorText(error) }));
  };
}

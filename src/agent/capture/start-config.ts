import type { Logger } from '../../base/logger.ts';
import { type CaptureConfig, seedLogText, zeroConfig } from '../../capture/index.ts';
import { otlpEndpoint, type InitConfigSettings } from '../settings.ts';
import { loadLastGood } from './last-good.ts';

const flowsOffText =
  'flows are off: this pod has no host network; a ClusterTrafficPolicy with spec.network.enabled: true turns them on';

/**
 * Where a config comes from: pushed by a controller, the last good one on disk, or the seed. Of an agent with the seed
 * no controller's wishes are known, so the seed is no reason to delete data.
 */
export type ConfigSource = 'push' | 'disk' | 'seed';

/**
 * The config of an agent before a controller pushes one: its last good config, or else the seed, which is made from the
 * agent's settings only. With the seed it logs that the seed is in force, in the words that the documentation promises.
 */
export async function startConfig(
  settings: Omit<InitConfigSettings, 'logLevel' | 'dataOwner' | 'supervisorDir'>,
  logger: Logger,
): Promise<{ config: CaptureConfig; source: Exclude<ConfigSource, 'push'> }> {
  const lastGood = await loadLastGood(settings.dataDir, settings.nodeName, logger);
  if (lastGood) {
    logger.info('starting with the last good capture config', { hash: lastGood.hash });
    return { config: lastGood.config, source: 'disk' };
  }
  const config = zeroConfig({
    node: settings.nodeName,
    ports: settings.obiInstrumentPorts,
    hostNetwork: settings.hostNetwork,
    instrumentVersion: settings.instrumentVersion,
    namespace: settings.namespace,
    healthSocket: settings.instrumentHealthSocket,
    otlpEndpoint: otlpEndpoint(settings),
  });
  logger.info(`discovery seeded: ${seedLogText(settings.obiInstrumentPorts)}`);
  if (!settings.hostNetwork) logger.info(flowsOffText);
  return { config, source: 'seed' };
}

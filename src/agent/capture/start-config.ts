import type { Logger } from '../../base/logger.ts';
import {
  type CaptureConfig,
  captureHash,
  parkedConfig,
  type ParkedOptions,
  seedLogText,
  zeroConfig,
} from '../../capture/index.ts';
import { otlpEndpoint, type InitConfigSettings } from '../settings.ts';
import { loadLastGood, loadRunning } from './last-good.ts';

const flowsOffText =
  'flows are off: this pod has no host network; a ClusterTrafficPolicy with spec.network.enabled: true turns them on';

/**
 * Where a config comes from: pushed by a controller; the last good one on disk; `seed`, the agent itself (the seed, or
 * the config that the instrument last ran); `parked`, the agent itself while it may keep nothing.
 */
export type ConfigSource = 'push' | 'disk' | 'seed' | 'parked';

/** With any other config the agent does not know what the controller wants now, so it deletes no data. */
export function isFromController(source: ConfigSource): boolean {
  return source === 'push' || source === 'disk';
}

interface StartConfig {
  readonly config: CaptureConfig;
  readonly source: Exclude<ConfigSource, 'push'>;
}

type StartSettings = Omit<InitConfigSettings, 'logLevel' | 'dataOwner' | 'supervisorDir'>;

/**
 * The config of an agent before a controller pushes one: its last good config. If it cannot be used, the config that
 * the instrument last ran, where there is a record of it, or else one that captures nothing: policies may forbid what
 * the seed captures. Only an agent that never had a config gets the seed, which is made from the agent's settings. With
 * the seed it logs that the seed is in force, in the words that the documentation promises.
 */
export async function startConfig(settings: StartSettings, logger: Logger): Promise<StartConfig> {
  const { dataDir, nodeName: node, obiInstrumentPorts: ports, hostNetwork } = settings;
  const lastGood = await loadLastGood(dataDir, node, logger);
  if (lastGood === 'unusable') return withoutLastGood(settings, logger);
  if (lastGood !== 'absent') {
    logger.info('starting with the last good capture config', { hash: lastGood.hash });
    return { config: lastGood.config, source: 'disk' };
  }
  const config = zeroConfig({ ...environmentOf(settings), ports, hostNetwork });
  logger.info(`discovery seeded: ${seedLogText(ports)}`);
  if (!hostNetwork) logger.info(flowsOffText);
  return { config, source: 'seed' };
}

async function withoutLastGood(settings: StartSettings, logger: Logger): Promise<StartConfig> {
  const running = await loadRunning(settings.dataDir, settings.nodeName, logger);
  if (running) {
    const hash = captureHash(running.config);
    logger.warn('starting with the capture config that the instrument last ran', { hash });
    return { config: running.config, source: 'seed' };
  }
  logger.warn('nothing is captured until the operator sends a config');
  return { config: parkedConfig(environmentOf(settings)), source: 'parked' };
}

function environmentOf(settings: StartSettings): ParkedOptions {
  return {
    node: settings.nodeName,
    instrumentVersion: settings.instrumentVersion,
    namespace: settings.namespace,
    healthSocket: settings.instrumentHealthSocket,
    otlpEndpoint: otlpEndpoint(settings),
  };
}

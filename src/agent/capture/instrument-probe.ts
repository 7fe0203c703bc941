import { instrumentVersion, isSinceV010 } from '../../capture/index.ts';
import { socketProbe, type HealthProbe } from './health-socket.ts';
import { processProbe } from './process-probe.ts';

/**
 * How to ask the instrument of this version when it started: its health socket, or `/proc` where it has none.
 * Errors: ERR_CONFIG_INVALID for a version that is not supported.
 */
export function probeFor(settings: { instrumentVersion: string; instrumentHealthSocket: string }): HealthProbe {
  return isSinceV010(instrumentVersion(settings.instrumentVersion))
    ? socketProbe(settings.instrumentHealthSocket)
    : processProbe();
}

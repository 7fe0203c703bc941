import { builtinLimits, type CaptureConfig } from './capture-config.ts';
import { builtinNetwork, builtinSettings, type InstrumentEnvironment } from './instrument-yaml/builtin.ts';
import { renderInstrumentYaml } from './instrument-yaml/render.ts';
import { parsePorts, portsText } from './ports.ts';

export interface SeedOptions extends InstrumentEnvironment {
  node: string;
  /** The value of `--obi-instrument-ports`, e.g. `80,443,8080,8443`. */
  ports: string;
  /** Whether the agent shares its node's network, so that the instrument sees the flows of all pods. Default false. */
  hostNetwork?: boolean;
}

/**
 * The config of an agent until a controller pushes one: one discovery entry for any process on these ports, and flows
 * where the pod can see them.
 * Errors: ERR_CONFIG_INVALID for ports that do not parse and for an unknown version of the instrument.
 */
export function zeroConfig(options: SeedOptions): CaptureConfig {
  const settings = builtinSettings(options);
  const yaml = renderInstrumentYaml({
    ...settings,
    network: options.hostNetwork === true ? builtinNetwork : null,
    entries: [{ ports: parsePorts(options.ports, '--obi-instrument-ports') }],
  });
  return {
    version: 1,
    node: options.node,
    instrument: { version: settings.version, yaml },
    monitors: [],
    limits: builtinLimits,
    retention: { metrics: {}, spans: {} },
    generations: {},
  };
}

/** The text after `discovery seeded: ` in the agent's log, e.g. `open_ports=80,443,8080,8443`. */
export function seedLogText(ports: string): string {
  return `open_ports=${portsText(parsePorts(ports, '--obi-instrument-ports'))}`;
}

import { builtinLimits, type CaptureConfig } from './capture-config.ts';
import { builtinNetwork, builtinSettings, type InstrumentEnvironment } from './instrument-yaml/builtin.ts';
import { renderInstrumentYaml } from './instrument-yaml/render.ts';
import type { InstrumentSettings } from './instrument-yaml/settings.ts';
import { parsePorts, portsText } from './ports.ts';

export interface ParkedOptions extends InstrumentEnvironment {
  node: string;
}

export interface SeedOptions extends ParkedOptions {
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
  return withInstrument(options, {
    network: options.hostNetwork === true ? builtinNetwork : null,
    entries: [{ ports: parsePorts(options.ports, '--obi-instrument-ports') }],
  });
}

/**
 * The config of an agent that was given one and cannot read it, until a controller pushes one. The instrument captures
 * nothing, because policies may forbid what the seed captures. The config has no rules for what an instrument with an
 * earlier file still sends before it restarts: the agent must keep none of that.
 * Errors: ERR_CONFIG_INVALID for an unknown version of the instrument.
 */
export function parkedConfig(options: ParkedOptions): CaptureConfig {
  return withInstrument(options, { network: null, entries: [] });
}

function withInstrument(
  options: ParkedOptions,
  capture: Pick<InstrumentSettings, 'network' | 'entries'>,
): CaptureConfig {
  const settings = { ...builtinSettings(options), ...capture };
  return {
    version: 1,
    node: options.node,
    instrument: { version: settings.version, yaml: renderInstrumentYaml(settings) },
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

import type { InstrumentSettings } from './settings.ts';
import { instrumentVersion } from './version.ts';

/** Settings that depend on the installation, not on a resource. */
export interface InstrumentEnvironment {
  /** Version text or image tag of the instrument, e.g. `v0.10.0`. */
  instrumentVersion: string;
  /** The product's own namespace, which is never captured. Default `svc-system`. */
  namespace?: string;
  /** The agent's OTLP/HTTP receiver with scheme. Default `http://127.0.0.1:4318`. */
  otlpEndpoint?: string;
  /** Abstract socket of the instrument's health check. Default `@svc-obi-health`. */
  healthSocket?: string;
}

/** The product's own namespace in this installation. */
export function ownNamespace({ namespace = 'svc-system' }: Pick<InstrumentEnvironment, 'namespace'>): string {
  return namespace;
}

/** The traces that the instrument exports by default; DNS and generative AI are opt-in. */
export const builtinTraceInstrumentations: readonly string[] = [
  'http',
  'grpc',
  'sql',
  'redis',
  'kafka',
  'mqtt',
  'nats',
  'amqp',
  'mongo',
  'couchbase',
  'memcached',
];

/**
 * The lowest layer of settings: those of a node without any policy or monitor. It has no discovery entry.
 * The short intervals replace upstream's 60 s, so that a scrape sees a request within seconds.
 * Errors: ERR_CONFIG_INVALID for an unknown instrument version.
 */
export function builtinSettings(environment: InstrumentEnvironment): InstrumentSettings {
  return {
    version: instrumentVersion(environment.instrumentVersion),
    otlpEndpoint: environment.otlpEndpoint ?? 'http://127.0.0.1:4318',
    healthSocket: environment.healthSocket ?? '@svc-obi-health',
    logLevel: 'INFO',
    exportIntervalMs: 10_000,
    pollIntervalMs: 5_000,
    injection: { node: false, java: false },
    entries: [],
    ownNamespace: ownNamespace(environment),
    exclusions: [{ namespaces: [ownNamespace(environment)] }],
    defaultExclusions: 'Inherit',
    instrumentations: { metrics: ['*'], traces: builtinTraceInstrumentations },
    tcpStats: false,
    network: null,
    routes: { unmatched: 'low-cardinality', maxPathSegmentCardinality: 10 },
    histograms: { type: 'Explicit' },
    headers: { capture: [], obfuscate: [] },
    sensitiveQueryParams: { add: [], remove: [] },
  };
}

/**
 * Defaults for the fields that a policy with flows leaves out. Flows are off by default: they are read from the devices
 * of the node, and a pod without the host network sees only its own devices.
 */
export const builtinNetwork: NonNullable<InstrumentSettings['network']> = {
  source: 'socket_filter',
  direction: 'both',
  protocols: ['TCP'],
  excludeInterfaces: [],
  cidrs: [],
  sampling: 0,
  dropExternal: false,
  attributes: [],
  deduper: 'first_come',
};

import type { PortRange } from '../ports.ts';
import type { YamlValue } from './emit.ts';
import type { InstrumentVersion } from './version.ts';

/**
 * The instrument's settings on one node, independent of any version's key names. The compiler fills them from
 * resources; the renderer turns them into the file of one version.
 */
export interface InstrumentSettings {
  version: InstrumentVersion;
  /** The agent's OTLP/HTTP receiver, with scheme. */
  otlpEndpoint: string;
  /** Abstract socket of the health check, e.g. `@svc-obi-health`. */
  healthSocket: string;
  logLevel: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR';
  /** Units: ms. */
  exportIntervalMs: number;
  pollIntervalMs: number;
  clusterName?: string;
  kubeMetaCache?: string;
  injection: { node: boolean; java: boolean };
  /** Ascending precedence: the last matching entry that sets a field wins. */
  entries: readonly DiscoveryEntry[];
  exclusions: readonly Selection[];
  /** The product's own namespace, which `exclusions` names. */
  ownNamespace: string;
  /** `Inherit` keeps the instrument's own list of excluded system namespaces. */
  defaultExclusions: 'Inherit' | 'None';
  /** The instrument's names of its instrumentations, in lower case; `['*']` for all. */
  instrumentations: { metrics: readonly string[]; traces: readonly string[] };
  /** Whether TCP statistics are wanted. They are off by default, because the instrument exits if their setup fails. */
  tcpStats: boolean;
  network: NetworkSettings | null;
  routes: { unmatched: UnmatchedRoutes; maxPathSegmentCardinality: number };
  histograms: {
    type: 'Explicit' | 'Exponential';
    durationBuckets?: readonly number[];
    sizeBuckets?: readonly number[];
  };
  /** Names, in lower case, of the HTTP headers that spans carry; headers in `obfuscate` appear without their value. */
  headers: { capture: readonly string[]; obfuscate: readonly string[] };
  sensitiveQueryParams: { add: readonly string[]; remove: readonly string[] };
  /** Further keys of the file, verbatim; an earlier check ensures that they replace none of the keys that we set. */
  extra?: ExtraConfig;
}

export type ExtraConfig = { readonly [key: string]: YamlValue | undefined };

export type UnmatchedRoutes = 'low-cardinality' | 'heuristic' | 'wildcard' | 'path' | 'unset';

/** Fields are AND-ed; the values of one field are alternatives. */
export interface Selection {
  /** Names or globs. */
  namespaces?: readonly string[];
  podLabels?: Readonly<Record<string, LabelTest>>;
  workload?: { kind: WorkloadKind; name: string };
  containers?: readonly string[];
  executables?: readonly string[];
  ports?: readonly PortRange[];
  containersOnly?: boolean;
}

/** What a label's value must be. `in`: one of these values. `glob`: a pattern, as in our exclusions. `exists`: any. */
export type LabelTest = { in: readonly string[] } | { glob: string } | { exists: true };

export type WorkloadKind = 'Deployment' | 'StatefulSet' | 'DaemonSet' | 'ReplicaSet' | 'Job' | 'CronJob' | 'Pod';

/**
 * One entry of discovery, which selects the processes to capture. Without `exports` and `sampler` the instrument's
 * defaults apply, as they do while there is neither a policy nor an active monitor.
 */
export interface DiscoveryEntry extends Selection {
  exports?: readonly ('metrics' | 'traces')[];
  sampler?: Sampler;
  routes?: readonly string[];
}

export interface Sampler {
  name: 'always_on' | 'parentbased_always_on' | 'traceidratio' | 'parentbased_traceidratio';
  arg?: string;
}

export interface NetworkSettings {
  source: 'socket_filter' | 'tc';
  direction: 'both' | 'ingress' | 'egress';
  protocols: readonly string[];
  excludeInterfaces: readonly string[];
  cidrs: readonly { cidr: string; name?: string }[];
  /** One in this many flows is reported; 0 means all. */
  sampling: number;
  dropExternal: boolean;
  /** Flow attributes beyond the workload identity of both ends. */
  attributes: readonly string[];
  deduper: 'first_come' | 'none';
}

import { formatDuration } from '../../base/duration.ts';
import { OperatorError } from '../../base/errors.ts';
import { portsText } from '../ports.ts';
import { emitYaml, WrittenItem, type YamlValue } from './emit.ts';
import { withExtra } from './extra.ts';
import { workloadKeys } from './keys.ts';
import type { DiscoveryEntry, InstrumentSettings, LabelTest, NetworkSettings, Selection } from './settings.ts';
import { validateInstrumentDocument } from './validate.ts';
import { isSinceV010, type InstrumentVersion } from './version.ts';

type YamlMap = { [key: string]: YamlValue | undefined };

/**
 * The config file of the instrument (OBI), for its version in `settings`. Pure and canonical: equal settings give equal
 * bytes.
 * Braces, commas and other glob operators are written here and nowhere else.
 * Errors: ERR_CAPTURE_INVALID when this version would refuse the file or ignore a part of it.
 */
export function renderInstrumentYaml(settings: InstrumentSettings): string {
  const { version } = settings;
  const idle = settings.entries.length === 0 && settings.network === null;
  const entries = idle ? [parked(settings)] : settings.entries;
  const fresh = entries.filter((e, i) => i === 0 || written.get(e)?.version !== version);
  const whole = (items: readonly YamlValue[]): YamlMap =>
    withExtra(instrumentDocument(settings, items), settings.extra);
  const problems = validateInstrumentDocument(version, withoutUndefined(whole(fresh.map(entry))));
  if (problems.length > 0) {
    throw new OperatorError('ERR_CAPTURE_INVALID', `instrument ${version}: ${problems.join('; ')}`);
  }
  for (const e of fresh) written.set(e, { version, item: new WrittenItem(entry(e), entryIndent) });
  return emitYaml(whole(entries.map((e) => written.get(e)!.item)));
}

/** Whether an instrument that runs this file opens a health socket. Pure. It relies on the style of `emitYaml`. */
export function opensHealthSocket(yaml: string): boolean {
  return /^health_check:/m.test(yaml);
}

/**
 * Entries that were checked for a version and serialised. Entries are immutable: after an edit, only a few of the
 * thousands in a large cluster are new and must be checked and serialised.
 */
const written = new WeakMap<DiscoveryEntry, { version: InstrumentVersion; item: WrittenItem }>();

/**
 * Keeps the instrument running when it should capture nothing at all: the entry selects the product's own namespace,
 * which is always excluded.
 */
function parked({ ownNamespace }: InstrumentSettings): DiscoveryEntry {
  return { namespaces: [ownNamespace], exports: [] };
}

/** The indentation of the members of `discovery.instrument`. */
const entryIndent = '      ';

function instrumentDocument(s: InstrumentSettings, entries: readonly YamlValue[]): YamlMap {
  const v10 = isSinceV010(s.version);
  return {
    log_level: s.logLevel,
    enforce_sys_caps: true,
    shutdown_timeout: '10s',
    health_check: v10 ? { unix_socket_path: s.healthSocket } : undefined,
    internal_metrics: { exporter: 'otel' },
    nodejs: { enabled: s.injection.node },
    javaagent: { enabled: s.injection.java },
    discovery: {
      poll_interval: formatDuration(s.pollIntervalMs),
      min_process_age: '5s',
      exclude_otel_instrumented_services: false,
      instrument: entries,
      exclude_instrument: s.exclusions.map(selection),
      default_exclude_instrument: s.defaultExclusions === 'None' ? [{ k8s_namespace: s.ownNamespace }] : undefined,
    },
    metrics: {
      features: [
        ...(entries.length > 0 ? ['application'] : []),
        ...(s.network ? ['network'] : []),
        ...(s.tcpStats ? ['stats'] : []),
      ],
    },
    attributes: {
      kubernetes: {
        enable: 'true',
        cluster_name: s.clusterName,
        drop_external: s.network?.dropExternal ? true : undefined,
        meta_restrict_local_node: false,
        meta_cache_address: s.kubeMetaCache,
      },
      select: s.network ? { obi_network_flow_bytes: { include: flowAttributes(s.network) } } : undefined,
      // The instance id is requested on data points, because only the instrument sets their attributes. On its
      // Resource, a process can set the instance id itself (ADR 21).
      extra_group_attributes: { k8s_app_meta: ['service.instance.id'] },
      sensitive_query_params: v10 ? queryParams(s) : undefined,
      rename_unresolved_hosts: 'unresolved',
      rename_unresolved_hosts_incoming: 'incoming',
      rename_unresolved_hosts_outgoing: 'outgoing',
    },
    network: s.network ? network(s.network) : undefined,
    routes: {
      unmatched: s.routes.unmatched,
      max_path_segment_cardinality: s.routes.maxPathSegmentCardinality,
      wildcard_char: '*',
    },
    ebpf: {
      batch_timeout: '1s',
      wakeup_len: 20,
      context_propagation: 'disabled',
      track_request_headers: withHeaders(s),
      payload_extraction: withHeaders(s) ? { http: { enrichment: enrichment(s) } } : undefined,
    },
    otel_metrics_export: {
      endpoint: s.otlpEndpoint,
      protocol: 'http/protobuf',
      interval: formatDuration(s.exportIntervalMs),
      // The instrument drops a metric that has not changed for this time. It must have exported the last change before.
      ttl: formatDuration(Math.max(300_000, 2 * s.exportIntervalMs)),
      reporters_cache_len: 2048,
      histogram_aggregation:
        s.histograms.type === 'Exponential' ? 'base2_exponential_bucket_histogram' : 'explicit_bucket_histogram',
      buckets: buckets(s),
      instrumentations: [...s.instrumentations.metrics],
    },
    otel_traces_export: {
      endpoint: s.otlpEndpoint,
      protocol: 'http/protobuf',
      batch_timeout: '1s',
      batch_max_size: 4096,
      queue_size: 16384,
      sampler: { name: 'parentbased_always_on' },
      instrumentations: [...s.instrumentations.traces],
    },
  };
}

function entry(e: DiscoveryEntry): YamlMap {
  return {
    ...selection(e),
    exports: e.exports ? [...e.exports] : undefined,
    sampler: e.sampler ? { name: e.sampler.name, arg: e.sampler.arg } : undefined,
    routes: e.routes && e.routes.length > 0 ? { incoming: [...e.routes] } : undefined,
  };
}

function selection(s: Selection): YamlMap {
  return {
    k8s_namespace: alternatives(s.namespaces),
    ...(s.workload ? { [workloadKeys[s.workload.kind]]: s.workload.name } : {}),
    k8s_pod_labels: s.podLabels ? labels(s.podLabels) : undefined,
    k8s_container_name: alternatives(s.containers),
    exe_path: alternatives(s.executables),
    open_ports: s.ports && s.ports.length > 0 ? portsText(s.ports) : undefined,
    containers_only: s.containersOnly ? true : undefined,
  };
}

function labels(tests: Readonly<Record<string, LabelTest>>): YamlMap {
  const out: YamlMap = {};
  for (const key of Object.keys(tests).toSorted()) {
    const test = tests[key]!;
    out[key] = 'in' in test ? alternatives(test.in) : 'glob' in test ? test.glob : '*';
  }
  return out;
}

/** One value as it is, several as a sorted brace group. */
function alternatives(values: readonly string[] | undefined): string | undefined {
  if (!values || values.length === 0) return undefined;
  const distinct = [...new Set(values)].toSorted();
  return distinct.length === 1 ? distinct[0] : `{${distinct.join(',')}}`;
}

/**
 * Requests the node of both ends. It is a pattern, so that the agent can tell it from the names that a policy requests:
 * only where a policy does, a series keeps the node of an end elsewhere.
 */
const nodesOfEnds = 'k8s.*.node.name';

/**
 * The attributes of a flow: the identity of both ends, and their nodes, by which the agent knows the ends that are its
 * own. Names of single pods are left out unless requested, because they multiply the series. Only the server's port is
 * requested, whichever end it is: the client's port differs with each connection. The agent puts the port on the
 * server's side.
 */
function flowAttributes(n: NetworkSettings): string[] {
  const ends = ['src', 'dst'].flatMap((end) => [
    `k8s.${end}.owner.name`,
    `k8s.${end}.owner.type`,
    `k8s.${end}.namespace`,
    ...(n.cidrs.length > 0 ? [`${end}.cidr`] : []),
  ]);
  const asked = n.attributes.map((name) => (name === 'src.port' || name === 'dst.port' ? 'server.port' : name));
  return [...new Set(['host.id', 'direction', 'k8s.cluster.name', nodesOfEnds, ...ends, ...asked])].toSorted();
}

function network(n: NetworkSettings): YamlMap {
  return {
    source: n.source,
    direction: n.direction,
    protocols: n.protocols.length > 0 ? [...n.protocols].toSorted() : undefined,
    exclude_interfaces: n.excludeInterfaces.length > 0 ? [...n.excludeInterfaces].toSorted() : undefined,
    cidrs: n.cidrs.length > 0 ? n.cidrs.map((c) => (c.name ? { cidr: c.cidr, name: c.name } : c.cidr)) : undefined,
    deduper: n.deduper,
    // The instrument sees which end is the server when a connection begins. For a connection that began before the
    // instrument, it guesses by the ports' numbers.
    guess_ports: flowAttributes(n).includes('server.port') ? 'ordinal' : undefined,
    sampling: n.sampling > 0 ? n.sampling : undefined,
  };
}

function queryParams(s: InstrumentSettings): YamlMap | undefined {
  const { add, remove } = s.sensitiveQueryParams;
  if (add.length === 0 && remove.length === 0) return undefined;
  return {
    add: add.length > 0 ? [...new Set(add)].toSorted() : undefined,
    remove: remove.length > 0 ? [...new Set(remove)].toSorted() : undefined,
  };
}

const withHeaders = ({ headers }: InstrumentSettings): boolean => headers.capture.length + headers.obfuscate.length > 0;

/** Only the named headers; a name is matched whole, case-insensitively. */
function enrichment({ headers }: InstrumentSettings): YamlMap {
  const rule = (action: 'include' | 'obfuscate', patterns: readonly string[]): YamlMap[] =>
    patterns.length === 0
      ? []
      : [{ action, type: 'headers', scope: 'all', match: { patterns: [...patterns], case_sensitive: false } }];
  return {
    enabled: true,
    policy: { default_action: { headers: 'exclude', body: 'exclude' }, obfuscation_string: '***' },
    rules: [...rule('include', headers.capture), ...rule('obfuscate', headers.obfuscate)],
  };
}

function buckets(s: InstrumentSettings): YamlMap | undefined {
  const { durationBuckets, sizeBuckets } = s.histograms;
  if (!durationBuckets && !sizeBuckets) return undefined;
  return {
    duration_histogram: durationBuckets ? [...durationBuckets] : undefined,
    request_size_histogram: sizeBuckets ? [...sizeBuckets] : undefined,
    response_size_histogram: sizeBuckets ? [...sizeBuckets] : undefined,
  };
}

function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, v]) => v !== undefined)
      .map(([k, v]) => [k, withoutUndefined(v)]),
  );
}

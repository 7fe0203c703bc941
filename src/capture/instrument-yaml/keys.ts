import { builtinTraceInstrumentations } from './builtin.ts';
import { instrumentVersions, isSinceV010, type InstrumentVersion } from './version.ts';

/**
 * The keys that one version of the instrument reads, with the values it accepts, as a tree.
 * The instrument silently ignores unknown keys and unknown feature names. This table prevents a typing mistake from
 * silently changing what is captured.
 * Source: the configuration reference and sources of the upstream instrument, v1 format.
 */
export type KeyRule =
  | { readonly kind: 'string'; readonly pattern?: RegExp }
  | { readonly kind: 'number' | 'boolean' | 'duration' }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'list'; readonly item: KeyRule; readonly max?: number }
  | { readonly kind: 'map'; readonly value: KeyRule }
  | { readonly kind: 'object'; readonly keys: Readonly<Record<string, KeyRule>> }
  | { readonly kind: 'either'; readonly rules: readonly KeyRule[] };

const string: KeyRule = { kind: 'string' };
const number: KeyRule = { kind: 'number' };
const boolean: KeyRule = { kind: 'boolean' };
const duration: KeyRule = { kind: 'duration' };
const choice = (...values: string[]): KeyRule => ({ kind: 'enum', values });
const list = (item: KeyRule): KeyRule => ({ kind: 'list', item });
const map = (value: KeyRule): KeyRule => ({ kind: 'map', value });
const object = (keys: Record<string, KeyRule>): KeyRule => ({ kind: 'object', keys });

const ports: KeyRule = { kind: 'string', pattern: /^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$/ };
const endpoint: KeyRule = { kind: 'string', pattern: /^https?:\/\/[^/\s]+/ };
const oneCharacter: KeyRule = { kind: 'string', pattern: /^.$/ };

/** Feature names of `metrics.features`. Under `v0.10` are only the names that this version adds to those of v0.9. */
const features = {
  'v0.9': [
    'all',
    'application',
    'application_span',
    'application_span_otel',
    'application_span_sizes',
    'application_service_graph',
    'application_host',
    'application_runtime',
    'network',
    'network_inter_zone',
    'stats',
    'stats_tcp_rtt',
    'stats_tcp_failed_connections',
    'ebpf',
  ],
  'v0.10': ['network_flow_packets', 'stats_tcp_io', 'stats_tcp_retransmits'],
} as const;

const instrumentations = ['*', ...builtinTraceInstrumentations, 'dns', 'genai', 'sunrpc', 'aerospike', 'gpu'];

const sampler = object({
  name: choice(
    'always_on',
    'always_off',
    'traceidratio',
    'parentbased_always_on',
    'parentbased_always_off',
    'parentbased_traceidratio',
  ),
  arg: { kind: 'string', pattern: /^(0|1|0\.[0-9]+)$/ },
});

/** In `filter`, the condition that one attribute of a record must meet: a glob, or comparisons with numbers. */
const comparison = object({
  match: string,
  not_match: string,
  ...Object.fromEntries(
    ['equals', 'not_equals', 'greater_than', 'greater_equals', 'less_than', 'less_equals'].map((key) => [key, number]),
  ),
});

/** For each kind of workload, the key that selects processes by the workload's name. */
export const workloadKeys = {
  Deployment: 'k8s_deployment_name',
  StatefulSet: 'k8s_statefulset_name',
  DaemonSet: 'k8s_daemonset_name',
  ReplicaSet: 'k8s_replicaset_name',
  Job: 'k8s_job_name',
  CronJob: 'k8s_cronjob_name',
  Pod: 'k8s_pod_name',
} as const;

const selection: Record<string, KeyRule> = {
  k8s_namespace: string,
  ...Object.fromEntries(Object.values(workloadKeys).map((key) => [key, string])),
  k8s_owner_name: string,
  k8s_container_name: string,
  k8s_pod_labels: map(string),
  k8s_pod_annotations: map(string),
  exe_path: string,
  cmd_args: string,
  languages: string,
  open_ports: ports,
  containers_only: boolean,
};

/**
 * The keys of an entry that select processes. An entry needs at least one of them; `containers_only` does not count.
 */
export const selectionKeys: readonly string[] = Object.keys(selection).filter((key) => key !== 'containers_only');

function table(version: InstrumentVersion): Readonly<Record<string, KeyRule>> {
  const v10 = isSinceV010(version);
  const featureNames = [...features['v0.9'], ...(v10 ? features['v0.10'] : [])];
  const featureList = list(choice(...featureNames));
  return {
    log_level: choice('DEBUG', 'INFO', 'WARN', 'ERROR'),
    log_format: choice('text', 'json'),
    enforce_sys_caps: boolean,
    shutdown_timeout: duration,
    ...(v10 ? { health_check: object({ unix_socket_path: string }) } : {}),
    internal_metrics: object({
      exporter: choice('disabled', 'prometheus', 'otel'),
      bpf_metric_scrape_interval: duration,
    }),
    nodejs: object({ enabled: boolean }),
    javaagent: object({ enabled: boolean }),
    discovery: object({
      poll_interval: duration,
      min_process_age: duration,
      exclude_otel_instrumented_services: boolean,
      instrument: list(
        object({
          ...selection,
          exports: list(choice('metrics', 'traces')),
          sampler,
          routes: object({ incoming: list(string), outgoing: list(string) }),
          metrics: object({ features: featureList }),
        }),
      ),
      exclude_instrument: list(object(selection)),
      default_exclude_instrument: list(object(selection)),
    }),
    metrics: object({ features: featureList }),
    attributes: object({
      kubernetes: object({
        enable: choice('true', 'false', 'autodetect'),
        cluster_name: string,
        drop_external: boolean,
        informers_sync_timeout: duration,
        informers_resync_period: duration,
        meta_restrict_local_node: boolean,
        meta_cache_address: string,
      }),
      select: map(object({ include: list(string), exclude: list(string) })),
      extra_group_attributes: object({ k8s_app_meta: list(string) }),
      ...(v10 ? { sensitive_query_params: object({ add: list(string), remove: list(string) }) } : {}),
      rename_unresolved_hosts: string,
      rename_unresolved_hosts_incoming: string,
      rename_unresolved_hosts_outgoing: string,
      metric_span_names_limit: number,
    }),
    network: object({
      source: choice('socket_filter', 'tc'),
      direction: choice('both', 'ingress', 'egress'),
      protocols: list(string),
      exclude_interfaces: list(string),
      cidrs: list({ kind: 'either', rules: [string, object({ cidr: string, name: string })] }),
      cache_max_flows: number,
      cache_active_timeout: duration,
      deduper: choice('first_come', 'none'),
      sampling: number,
      agent_ip_iface: string,
      agent_ip_type: choice('any', 'ipv4', 'ipv6'),
      guess_ports: choice('disable', 'ordinal'),
    }),
    routes: object({
      unmatched: choice('heuristic', 'low-cardinality', 'wildcard', 'path', 'unset'),
      patterns: list(string),
      max_path_segment_cardinality: number,
      wildcard_char: oneCharacter,
    }),
    ebpf: object({
      batch_length: number,
      batch_timeout: duration,
      wakeup_len: number,
      http_request_timeout: duration,
      high_request_volume: boolean,
      context_propagation: choice('disabled', 'headers', 'http', 'tcp', 'all'),
      track_request_headers: boolean,
      traffic_control_backend: choice('auto', 'tc', 'tcx'),
      maps_config: object({ global_scale_factor: number }),
      payload_extraction: object({
        http: object({
          enrichment: object({
            enabled: boolean,
            policy: object({
              default_action: object({
                headers: choice('include', 'exclude', 'obfuscate'),
                body: choice('include', 'exclude', 'obfuscate'),
              }),
              obfuscation_string: string,
            }),
            rules: list(
              object({
                action: choice('include', 'exclude', 'obfuscate'),
                type: choice('headers'),
                scope: choice('all', 'request', 'response'),
                match: object({ patterns: list(string), case_sensitive: boolean }),
              }),
            ),
          }),
        }),
      }),
    }),
    filter: object({
      application: map(comparison),
      network: map(comparison),
      stats: map(comparison),
    }),
    otel_metrics_export: object({
      endpoint,
      protocol: choice('http/protobuf', 'grpc'),
      interval: duration,
      ttl: duration,
      reporters_cache_len: number,
      histogram_aggregation: choice('explicit_bucket_histogram', 'base2_exponential_bucket_histogram'),
      instrumentations: list(choice(...instrumentations)),
      buckets: object({
        duration_histogram: list(number),
        request_size_histogram: list(number),
        response_size_histogram: list(number),
      }),
    }),
    otel_traces_export: object({
      endpoint,
      protocol: choice('http/protobuf', 'grpc'),
      batch_timeout: duration,
      batch_max_size: number,
      queue_size: number,
      sampler,
      instrumentations: list(choice(...instrumentations)),
    }),
  };
}

/** All keys of the config file, for each version of the instrument. */
export const keyTables = Object.fromEntries(
  instrumentVersions.map((version) => [version, object(table(version))]),
) as Readonly<Record<InstrumentVersion, KeyRule>>;

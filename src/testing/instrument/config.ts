import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** One entry of `discovery.instrument` or `discovery.exclude_instrument`. Absent fields do not restrict. */
export interface Selector {
  readonly open_ports?: string;
  readonly k8s_pod_labels?: Readonly<Record<string, string>>;
  readonly exports?: readonly ('metrics' | 'traces')[];
  readonly sampler?: Sampler;
  /** The other fields: name globs such as `k8s_namespace`, and fields that our stand-in for the instrument ignores. */
  readonly [field: string]: unknown;
}

export interface Sampler {
  readonly name?: string;
  readonly arg?: string;
}

/** The settings that the stand-in reads from the instrument's file. Units of times: ms. */
export interface InstrumentConfig {
  readonly enforceSysCaps: boolean;
  readonly healthSocket: string | null;
  readonly include: readonly Selector[];
  readonly exclude: readonly Selector[];
  readonly application: boolean;
  /** The attributes selected for flows; null when flows are off. */
  readonly flows: readonly string[] | null;
  readonly metricsEndpoint: string | null;
  readonly metricsIntervalMs: number;
  readonly tracesEndpoint: string | null;
  readonly tracesBatchMs: number;
  readonly sampler: Sampler;
  /** Whether the instrument sends metrics about itself. */
  readonly internalMetrics: boolean;
  /** Whether points carry the `service.instance.id` of their sender. */
  readonly instanceOnPoints: boolean;
}

/** Ends the instrument at start-up: exit code 255 after one line on its output. */
export class StartError extends Error {}

type Doc = Readonly<Record<string, unknown>>;

/** Namespaces that the real instrument leaves out unless the file says otherwise. */
const defaultExclude: readonly Selector[] = [
  {
    k8s_namespace: '{kube-system,kube-node-lease,local-path-storage,cert-manager,monitoring,gke-*,gatekeeper-system}',
  },
];

/**
 * Reads the file once, as the real instrument does, and fails for the same reasons: no file, broken YAML, a wrong type,
 * a value that is not allowed, no feature, no exporter. Like the real one, it silently ignores unknown keys and feature
 * names.
 * Errors: StartError with the line that the real instrument would print, if its wording is known.
 */
export function readInstrumentConfig(path: string | undefined, env: NodeJS.ProcessEnv): InstrumentConfig {
  if (!path) throw new StartError('wrong configuration: no configuration file given');
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new StartError(`can't open ${path}`);
  }
  return parseInstrumentConfig(text, env);
}

export function parseInstrumentConfig(text: string, env: NodeJS.ProcessEnv): InstrumentConfig {
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (error) {
    throw new StartError(`wrong configuration: yaml: ${(error as Error).message.split('\n')[0]}`);
  }
  const doc = record(parsed ?? {}, '');
  const discovery = record(doc['discovery'] ?? {}, 'discovery');
  const metricsExport = record(doc['otel_metrics_export'] ?? {}, 'otel_metrics_export');
  const tracesExport = record(doc['otel_traces_export'] ?? {}, 'otel_traces_export');
  const network = record(doc['network'] ?? {}, 'network');
  oneOf(network, 'source', 'Source', ['socket_filter', 'tc']);
  const features = strings(record(doc['metrics'] ?? {}, 'metrics')['features'], 'metrics.features');
  const include = selectors(discovery['instrument'], 'discovery.instrument');
  const application = features.some((f) => f === 'all' || f.startsWith('application')) && include.length > 0;
  if (!application && !features.some((f) => f === 'all' || /^(network|stats)/.test(f))) {
    throw new StartError('wrong configuration: at least one of application, network or stats features must be enabled');
  }
  const metricsEndpoint = optionalText(metricsExport['endpoint'], 'otel_metrics_export.endpoint');
  const tracesEndpoint = optionalText(tracesExport['endpoint'], 'otel_traces_export.endpoint');
  if (metricsEndpoint === null && tracesEndpoint === null) {
    throw new StartError('wrong configuration: you need to define at least one exporter');
  }
  const health = record(doc['health_check'] ?? {}, 'health_check');
  const defaults = discovery['default_exclude_instrument'];
  return {
    enforceSysCaps: bool(doc['enforce_sys_caps'], 'enforce_sys_caps') || env['OTEL_EBPF_ENFORCE_SYS_CAPS'] === 'true',
    healthSocket: optionalText(health['unix_socket_path'], 'health_check.unix_socket_path'),
    include,
    exclude: [
      ...selectors(discovery['exclude_instrument'], 'discovery.exclude_instrument'),
      ...(defaults === undefined ? defaultExclude : selectors(defaults, 'discovery.default_exclude_instrument')),
    ],
    application,
    flows: features.some((f) => f === 'all' || f === 'network') ? flowAttributes(doc) : null,
    metricsEndpoint,
    metricsIntervalMs: duration(metricsExport['interval'], 'otel_metrics_export.interval', 60_000),
    tracesEndpoint,
    tracesBatchMs: duration(tracesExport['batch_timeout'], 'otel_traces_export.batch_timeout', 15_000),
    internalMetrics: record(doc['internal_metrics'] ?? {}, 'internal_metrics')['exporter'] === 'otel',
    instanceOnPoints: strings(
      record(record(doc['attributes'] ?? {}, 'attributes')['extra_group_attributes'] ?? {}, 'extra_group_attributes')[
        'k8s_app_meta'
      ] ?? [],
      'extra_group_attributes.k8s_app_meta',
    ).includes('service.instance.id'),
    sampler: record(tracesExport['sampler'] ?? {}, 'otel_traces_export.sampler') as Sampler,
  };
}

function flowAttributes(doc: Doc): string[] {
  const select = record(record(doc['attributes'] ?? {}, 'attributes')['select'] ?? {}, 'attributes.select');
  const flows = record(select['obi_network_flow_bytes'] ?? {}, 'attributes.select.obi_network_flow_bytes');
  return strings(flows['include'], 'attributes.select.obi_network_flow_bytes.include');
}

function selectors(value: unknown, path: string): Selector[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(path, value, 'a sequence');
  return value.map((entry: unknown, i) => {
    const selector = record(entry, `${path}[${i}]`);
    for (const [key, field] of Object.entries(selector)) {
      const structured = ['k8s_pod_labels', 'k8s_pod_annotations', 'exports', 'sampler', 'routes', 'metrics'].includes(
        key,
      );
      if (!structured && typeof field === 'object' && field !== null)
        throw wrongType(`${path}[${i}].${key}`, field, 'a string');
    }
    if (selector['exports'] !== undefined) strings(selector['exports'], `${path}[${i}].exports`);
    if (selector['k8s_pod_labels'] !== undefined) record(selector['k8s_pod_labels'], `${path}[${i}].k8s_pod_labels`);
    return selector;
  });
}

function record(value: unknown, path: string): Doc {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Doc;
  throw wrongType(path || 'the document', value, 'a mapping');
}

function strings(value: unknown, path: string): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((v) => typeof v === 'string')) throw wrongType(path, value, 'strings');
  return value;
}

function optionalText(value: unknown, path: string): string | null {
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'object') throw wrongType(path, value, 'a string');
  return String(value);
}

function bool(value: unknown, path: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw wrongType(path, value, 'a bool');
  return value;
}

function duration(value: unknown, path: string, fallback: number): number {
  if (value === undefined || value === null) return fallback;
  const units: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  const text = String(value);
  if (!/^([0-9]+(ms|s|m|h))+$/.test(text)) throw wrongType(path, value, 'a duration');
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h)/g)) ms += Number(amount) * units[unit!]!;
  return ms;
}

function oneOf(doc: Doc, key: string, goName: string, values: readonly string[]): void {
  const value = doc[key];
  if (value === undefined || values.includes(value as string)) return;
  throw new StartError(`wrong configuration: Field validation for '${goName}' failed on the 'oneof' tag`);
}

function wrongType(path: string, value: unknown, wanted: string): StartError {
  const shown = Array.isArray(value)
    ? '!!seq'
    : value !== null && typeof value === 'object'
      ? '!!map'
      : `!!${typeof value}`;
  return new StartError(
    `wrong configuration: yaml: unmarshal errors: cannot unmarshal ${shown} of ${path} into ${wanted}`,
  );
}

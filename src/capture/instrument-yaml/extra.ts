import type { YamlValue } from './emit.ts';
import type { ExtraConfig } from './settings.ts';

/**
 * Keys of the instrument's file that are derived from resources or that capture depends on: the extra keys of a policy
 * must not replace them. A path covers everything below it. The remaining keys are the instrument's own tunables: queue
 * and batch sizes, caches, filters.
 */
const owned: readonly string[] = [
  'log_level',
  'enforce_sys_caps',
  'shutdown_timeout',
  'health_check',
  'internal_metrics',
  'nodejs',
  'javaagent',
  'discovery',
  'metrics',
  'attributes.kubernetes.enable',
  'attributes.kubernetes.cluster_name',
  'attributes.kubernetes.drop_external',
  'attributes.kubernetes.meta_restrict_local_node',
  'attributes.kubernetes.meta_cache_address',
  'attributes.select',
  'attributes.extra_group_attributes',
  'attributes.sensitive_query_params',
  'network.source',
  'network.direction',
  'network.protocols',
  'network.exclude_interfaces',
  'network.cidrs',
  'network.deduper',
  'network.sampling',
  'routes',
  'ebpf.context_propagation',
  'ebpf.track_request_headers',
  'ebpf.payload_extraction',
  'otel_metrics_export.endpoint',
  'otel_metrics_export.protocol',
  'otel_metrics_export.interval',
  'otel_metrics_export.histogram_aggregation',
  'otel_metrics_export.buckets',
  'otel_metrics_export.instrumentations',
  'otel_traces_export.endpoint',
  'otel_traces_export.protocol',
  'otel_traces_export.sampler',
  'otel_traces_export.instrumentations',
];

type Doc = { [key: string]: YamlValue | undefined };

/** The path of the first owned key that the extra keys would replace; null when they replace none. */
export function ownedKey(extra: ExtraConfig, path = ''): string | null {
  for (const key of Object.keys(extra).toSorted()) {
    const next = path === '' ? key : `${path}.${key}`;
    if (owned.includes(next)) return next;
    const value = extra[key];
    if (isMap(value)) {
      const found = ownedKey(value, next);
      if (found) return found;
    } else if (owned.some((o) => o.startsWith(`${next}.`))) {
      // A scalar or list in place of a map removes everything below it.
      return next;
    }
  }
  return null;
}

/** The document with the extra keys merged in. New keys are sorted and placed at the end of their map. */
export function withExtra(document: Doc, extra: ExtraConfig | undefined): Doc {
  if (!extra) return document;
  const out = new Map(Object.entries(document));
  for (const key of Object.keys(extra).toSorted()) {
    const [before, value] = [out.get(key), extra[key]];
    if (value === undefined) continue;
    out.set(key, isMap(value) ? withExtra(isMap(before) ? before : {}, value) : value);
  }
  return Object.fromEntries(out);
}

function isMap(value: YamlValue | undefined): value is { readonly [key: string]: YamlValue | undefined } {
  return typeof value === 'object' && !Array.isArray(value);
}

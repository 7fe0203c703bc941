import { formatFloatPlain } from '../../promql/index.ts';

/**
 * OTLP names become Prometheus names by "underscore escaping without suffixes", and the instrument's own prefixes
 * `obi.` and `beyla.` become `ebpf_`. Cached, because the same few names come with every export.
 * Source: the OTLP-to-Prometheus compatibility rules; the product's metric names have no unit and no `_total` added.
 */
const metricNames = new Map<string, string>();
const labelNames = new Map<string, string>();
const cacheCap = 10_000;

/** The metric's name, or `''` for one with no usable character. */
export function metricName(otlp: string): string {
  return cached(metricNames, otlp, escapeMetricName);
}

/** The label's name. Names that would be reserved (`__…`) or start with a digit get a `key` prefix. */
export function labelName(otlp: string): string {
  return cached(labelNames, otlp, escapeLabelName);
}

function escapeMetricName(otlp: string): string {
  const renamed = otlp.replace(/^(?:obi|beyla)[._]/, 'ebpf_');
  // Runs of foreign characters become one underscore, and none is left at the ends.
  const escaped = renamed.replace(/[^a-zA-Z0-9_:]+/g, (run, at: number) =>
    at === 0 || at + run.length === renamed.length ? '' : '_',
  );
  return /^[0-9]/.test(escaped) ? `_${escaped}` : escaped;
}

function escapeLabelName(otlp: string): string {
  const escaped = otlp.replace(/[^a-zA-Z0-9_]/gu, '_');
  if (escaped === '') return 'key_';
  if (/^[0-9]/.test(escaped)) return `key_${escaped}`;
  return escaped.startsWith('_') ? `key${escaped}` : escaped;
}

function cached(cache: Map<string, string>, key: string, make: (key: string) => string): string {
  const known = cache.get(key);
  if (known !== undefined) return known;
  if (cache.size >= cacheCap) cache.clear();
  const made = make(key);
  cache.set(key, made);
  return made;
}

/**
 * Info metrics that are never kept, by the names that `metricName` gives: each would add one series per process and no
 * information.
 */
export const infoMetrics: ReadonlySet<string> = new Set(['target_info', 'traces_target_info', 'traces_host_info']);

/** The decimal text of a bound or quantile, never with an exponent, like `le` values in Prometheus. */
export function boundText(value: number): string {
  // Adding 0 removes the sign of -0.
  return formatFloatPlain(value + 0);
}

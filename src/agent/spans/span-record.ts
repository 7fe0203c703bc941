import type { Attribute, ResourceSpans, Span } from '../otlp/model.ts';
import { plainValue, truncate } from '../mapping/label-set.ts';
import type { Redactor } from '../redaction/redactor.ts';

/** One span as the stream serves it. Absent members were not known. */
export interface SpanRecord {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: string;
  /** RFC 3339 with nanoseconds, UTC. */
  readonly start: string;
  readonly durationNs: number;
  readonly status: 'unset' | 'ok' | 'error';
  readonly statusMessage?: string;
  readonly namespace?: string;
  readonly pod?: string;
  readonly container?: string;
  readonly workload?: { readonly kind: string; readonly name: string };
  readonly service?: string;
  readonly method?: string;
  readonly path?: string;
  readonly route?: string;
  readonly statusCode?: number;
  /** The span's other attributes, redacted. */
  readonly attributes: Readonly<Record<string, unknown>>;
}

const workloadKeys: readonly (readonly [key: string, kind: string])[] = [
  ['k8s.deployment.name', 'Deployment'],
  ['k8s.statefulset.name', 'StatefulSet'],
  ['k8s.daemonset.name', 'DaemonSet'],
  ['k8s.cronjob.name', 'CronJob'],
  ['k8s.job.name', 'Job'],
  ['k8s.replicaset.name', 'ReplicaSet'],
];

/** Names of the internal children that the instrument makes for a Go server span: they tell nothing new. */
const internalChildren = new Set(['in queue', 'processing']);

/** True for a span that the stream shows. */
export function isShown(span: Span): boolean {
  return !(span.kind === 'internal' && internalChildren.has(span.name));
}

/** A span with its Resource as a record, redacted: nothing that must not be seen gets further than this. */
export function spanRecord(
  resource: ResourceSpans['attributes'],
  span: Span,
  redactor: Redactor,
  headers: ReadonlySet<string> = noHeaders,
): SpanRecord {
  const own = redactedMap(span.attributes, redactor, headers);
  const from = redactedMap(resource, redactor, headers);
  const text = (key: string): string | undefined => {
    const value = own.get(key) ?? from.get(key);
    return value === undefined || value === '' ? undefined : String(value);
  };
  const workload = workloadKeys.find(([key]) => text(key) !== undefined);
  const status = Number(text('http.response.status_code') ?? NaN);
  const path = text('url.path') ?? pathOf(text('url.full'));
  const attributes: Record<string, unknown> = {};
  for (const [key, value] of own) if (!shownElsewhere.has(key)) attributes[key] = value;
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...given('parentSpanId', span.parentSpanId || undefined),
    name: truncate(redactor.spanName(span.name), maxTextLength),
    kind: span.kind,
    start: rfc3339Nano(span.startNs),
    durationNs: Math.max(0, Number(span.endNs - span.startNs)),
    status: span.status,
    ...given('statusMessage', truncate(span.statusMessage, maxTextLength) || undefined),
    ...given('namespace', text('k8s.namespace.name')),
    ...given('pod', text('k8s.pod.name')),
    ...given('container', text('k8s.container.name')),
    ...given('workload', workload && { kind: workload[1], name: text(workload[0])! }),
    ...given('service', text('service.name')),
    ...given('method', text('http.request.method')),
    ...given('path', path),
    ...given('route', text('http.route')),
    ...given('statusCode', Number.isInteger(status) ? status : undefined),
    attributes,
  };
}

const shownElsewhere = new Set([
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'url.path',
  'span.metrics.skip',
]);

/** Longer names, messages and texts of attributes are cut. Units: characters. */
const maxTextLength = 4_096;
const noHeaders: ReadonlySet<string> = new Set();

function redactedMap(
  attributes: readonly Attribute[],
  redactor: Redactor,
  headers: ReadonlySet<string>,
): Map<string, unknown> {
  const map = new Map<string, unknown>();
  for (const { key, value } of attributes) {
    const kept = redactor.attribute(key, value, headers);
    if (kept === undefined) continue;
    const plain = plainValue(kept);
    map.set(key, typeof plain === 'string' ? truncate(plain, maxTextLength) : plain);
  }
  return map;
}

function given<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}

/** The path of a URL; undefined where it has none. */
export function pathOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  return /^(?:[a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1] || undefined;
}

/** Nanoseconds since the epoch as RFC 3339 in UTC; a time no calendar holds becomes the epoch. */
export function rfc3339Nano(ns: bigint): string {
  const ms = Number(ns / 1_000_000n);
  if (ms > 8.64e15) return rfc3339Nano(0n);
  const nanos = String(ns % 1_000_000_000n).padStart(9, '0');
  return `${new Date(ms).toISOString().slice(0, 19)}.${nanos}Z`;
}

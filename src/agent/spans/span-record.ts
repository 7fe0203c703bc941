import { pathOf } from '../../base/text/texts.ts';
import type { Attribute, ResourceSpans, Span } from '../otlp/model.ts';
import { isReservedLabel } from '../identity/enrich.ts';
import { plainValue, truncate } from '../mapping/label-set.ts';
import { labelName } from '../mapping/names.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { fittingAttributes, maxTextLength } from './record-size.ts';
import { rfc3339Nano, type SpanRecord } from '../../stream/index.ts';

const workloadKeys: readonly (readonly [key: string, kind: string])[] = [
  ['k8s.deployment.name', 'Deployment'],
  ['k8s.statefulset.name', 'StatefulSet'],
  ['k8s.daemonset.name', 'DaemonSet'],
  ['k8s.cronjob.name', 'CronJob'],
  ['k8s.job.name', 'Job'],
  ['k8s.replicaset.name', 'ReplicaSet'],
];

/** Names of the internal children that the instrument creates for a Go server span: they add no information. */
const internalChildren = new Set(['in queue', 'processing']);

/** True for a span that the stream of spans shows to users. */
export function isShown(span: Span): boolean {
  return !(span.kind === 'internal' && internalChildren.has(span.name));
}

/** The attributes of a Resource as texts, redacted and cut. */
export type ResourceTexts = ReadonlyMap<string, string>;

/** Redacts a Resource, once for all its spans. */
export function resourceTexts(resource: ResourceSpans['attributes'], redactor: Redactor): ResourceTexts {
  return new Map([...redactedMap(resource, redactor, noHeaders)].map(([key, value]) => [key, textOf(value)]));
}

/**
 * A span with its Resource as a record, redacted: data that must be redacted goes no further than this function.
 * `from` has the attributes of the pod that sent the span; the Kubernetes attributes that the span itself claims are
 * left out. A status code is the span's own, not the Resource's, and has three digits.
 */
export function spanRecord(
  from: ResourceTexts,
  span: Span,
  redactor: Redactor,
  headers: ReadonlySet<string> = noHeaders,
): SpanRecord {
  const own = redactedMap(
    span.attributes.filter(({ key }) => !isReservedLabel(labelName(key))),
    redactor,
    headers,
  );
  const text = (key: string): string | undefined => {
    const value = own.get(key);
    return (value === undefined || value === null ? from.get(key) : textOf(value)) || undefined;
  };
  const workload = workloadKeys.find(([key]) => text(key) !== undefined);
  const status = textOf(own.get('http.response.status_code'));
  const derived = pathOf(text('url.full'));
  const path = text('url.path') ?? (derived && redactor.label('url_path', derived));
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...given('parentSpanId', span.parentSpanId || undefined),
    name: truncate(redactor.spanName(span.name, span.attributes), maxTextLength),
    kind: span.kind,
    start: rfc3339Nano(span.startNs),
    durationNs: Math.max(0, Number(span.endNs - span.startNs)),
    status: span.status,
    ...given('statusMessage', truncate(redactor.statusMessage(span), maxTextLength) || undefined),
    ...given('namespace', text('k8s.namespace.name')),
    ...given('pod', text('k8s.pod.name')),
    ...given('container', text('k8s.container.name')),
    ...given('workload', workload && { kind: workload[1], name: text(workload[0])! }),
    ...given('service', text('service.name')),
    ...given('method', text('http.request.method')),
    ...given('path', path),
    ...given('route', text('http.route')),
    ...given('statusCode', /^[1-9]\d\d$/.test(status) ? Number(status) : undefined),
    attributes: fittingAttributes(own.entries().filter(([key]) => !shownElsewhere.has(key))),
  };
}

const shownElsewhere = new Set([
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'url.path',
  'span.metrics.skip',
]);

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

function textOf(plain: unknown): string {
  return truncate(typeof plain === 'object' ? JSON.stringify(plain) : String(plain), maxTextLength);
}

function given<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [P in K]?: V };
}

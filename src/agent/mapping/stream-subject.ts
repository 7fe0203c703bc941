import { compareUtf8 } from '../../tsdb/index.ts';
import type { Identity } from '../identity/identity.ts';
import type { Attribute } from '../otlp/model.ts';
import { type Pair, streamLabels, truncate, valueText } from './label-set.ts';
import { metricFamily, type StreamRules } from './monitor-rules.ts';
import { labelName } from './names.ts';
import type { MappingPolicy } from './policy.ts';
import type { Stream } from './stream.ts';

/** What a stream speaks of, once its pod or the ends of its flow are filled in. */
export interface StreamSubject {
  readonly resource: readonly Attribute[];
  readonly point: readonly Attribute[];
  /** The text of an attribute, the point's own first; `''` for none. */
  readonly valueOf: (key: string) => string;
  readonly namespace: string;
  readonly pod: string;
}

/** The stream's attributes with its pod, or the ends of its flow, filled in; notes on the stream what stays unknown. */
export function streamSubject(stream: Stream, identity: Identity): StreamSubject {
  const enriched = identity.resource(stream.resource);
  stream.identity = enriched;
  let resource = enriched.attributes;
  let point = stream.point;
  if (isFlow(stream)) {
    const flow = identity.flow(point);
    stream.unknown = flow.state === 'missing';
    point = flow.attributes;
  } else {
    const named = enriched.state !== 'missing' || attributeText(point, 'k8s.pod.name') !== '';
    stream.unknown = !named && metricFamily(stream.otlpName) !== null;
    if (stream.unknown && identity.pods.synced) resource = [...resource, unknownPod];
  }
  const valueOf = (key: string): string => attributeText(point, key) || attributeText(resource, key);
  return { resource, point, valueOf, namespace: valueOf('k8s.namespace.name'), pod: valueOf('k8s.pod.name') };
}

/** The labels under the rules of its pod and namespace, with the pod's own labels that were asked for. */
export function subjectLabels(
  { resource, point, namespace, pod }: StreamSubject,
  { dropLabels, podLabels }: StreamRules,
  policy: MappingPolicy,
  identity: Identity,
): readonly Pair[] {
  const ends = ['k8s.src.namespace', 'k8s.dst.namespace'].map((key) => attributeText(point, key)).filter(Boolean);
  const redactor = policy.redactors.of(...(namespace || ends.length === 0 ? [namespace] : ends));
  const drop = dropLabels.length > 0 ? new Set([...policy.dropLabels, ...dropLabels]) : policy.dropLabels;
  const { maxLabelValueLength: maxValueLength } = policy.limits;
  const redact = (key: string, value: Attribute['value']): Attribute['value'] | undefined =>
    redactor.attribute(key, value);
  const base = streamLabels(resource, point, { drop, maxValueLength, node: policy.node, redact });
  const owned = podLabels.length > 0 ? identity.pod(namespace, pod)?.labels : undefined;
  if (!owned) return base;
  const added = new Map<string, string>();
  for (const key of podLabels) {
    const name = `label_${labelName(key)}`;
    const value = redactor.label(name, owned[key] ?? '');
    if (value && !drop.has(name)) added.set(name, truncate(value, maxValueLength));
  }
  const rest = base.filter(([name]) => !added.has(name));
  return [...rest, ...added].sort((a, b) => compareUtf8(a[0], b[0]));
}

function attributeText(attributes: readonly Attribute[], key: string): string {
  for (const attribute of attributes) if (attribute.key === key) return valueText(attribute.value);
  return '';
}

/** True for a stream of network flows: it speaks of two ends, not of one pod. */
export function isFlow({ otlpName }: Stream): boolean {
  return otlpName.startsWith('obi.network.') || otlpName.startsWith('beyla.network.');
}

/** What stands in the place of a pod that the API server does not know either. */
const unknownPod: Attribute = { key: 'k8s.pod.name', value: 'unknown' };

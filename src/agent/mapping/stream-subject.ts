import { namingLabels } from '../../api/v1alpha1/index.ts';
import { ownValue } from '../../base/collections/own-value.ts';
import { compareUtf8 } from '../../tsdb/index.ts';
import { isReservedLabel } from '../identity/enrich.ts';
import type { Identity } from '../identity/identity.ts';
import { instanceKey } from '../identity/instance-id.ts';
import type { PodIdentity } from '../identity/pod-identity.ts';
import type { Attribute } from '../otlp/model.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { attributeText, type Pair, streamLabels, truncate, valueText } from './label-set.ts';
import { metricFamily } from './metric-families.ts';
import type { StreamRules } from './monitor-rules.ts';
import { labelName } from './names.ts';
import type { PeerNames } from './peer-names.ts';
import type { MappingPolicy } from './policy.ts';
import type { Stream } from './stream.ts';

/** The subject of a stream of metric points: its pod or the ends of its flow, and what follows from these. */
export interface StreamSubject {
  readonly resource: readonly Attribute[];
  readonly point: readonly Attribute[];
  /** The text of an attribute, the point's own first; `''` for none. */
  readonly valueOf: (key: string) => string;
  /** The pod that sent the stream; null for a flow, and for an unknown sender. */
  readonly pod: PodIdentity | null;
  readonly namespace: string;
  readonly container: string;
  /**
   * The namespaces against whose limits its series count: the sender's, or those of a flow's ends on this node; `['']`
   * when unknown.
   */
  readonly charged: readonly string[];
}

/**
 * Finds the pod that sent a stream, or the ends of its flow, and names them in its attributes. Marks the stream when
 * its subject is unknown.
 * Once known, the stream's pod stays the same: the pod may leave the node before its last points arrive.
 */
export function streamSubject(stream: Stream, identity: Identity): StreamSubject {
  return isFlow(stream.otlpName) ? flowSubject(stream, identity) : senderSubject(stream, identity);
}

function senderSubject(stream: Stream, identity: Identity): StreamSubject {
  const fresh = identity.point(stream.resource, stream.point);
  const sender = stream.sender?.pod && !fresh.pod ? stream.sender : fresh;
  stream.sender = sender;
  const { pod, container } = sender;
  stream.unknown = !pod && metricFamily(stream.otlpName) !== null;
  const resource = stream.unknown && identity.pods.synced ? [...sender.attributes, unknownPod] : sender.attributes;
  const point = isOwnWords(stream.point) ? stream.point : stream.point.filter(isOwnWord);
  const valueOf = (key: string): string => attributeText(point, key) || attributeText(resource, key);
  const namespace = pod?.namespace ?? '';
  return { resource, point, valueOf, pod, namespace, container, charged: [namespace] };
}

function flowSubject(stream: Stream, identity: Identity): StreamSubject {
  const fresh = identity.flow(stream.point);
  const flow = stream.flow && stream.flow.local.length > 0 && fresh.local.length === 0 ? stream.flow : fresh;
  stream.flow = flow;
  stream.unknown = flow.unknown;
  const point = flow.attributes;
  const resource = stream.resource.filter(isOwnWord);
  const valueOf = (key: string): string => attributeText(point, key) || attributeText(resource, key);
  const charged = flow.local.length > 0 ? flow.local : noNamespace;
  return { resource, point, valueOf, pod: null, namespace: '', container: '', charged };
}

/** The namespaces against whose limits the series of a new stream would count. */
export function chargedTo(
  otlpName: string,
  resource: readonly Attribute[],
  point: readonly Attribute[],
  identity: Identity,
): readonly string[] {
  if (isFlow(otlpName)) {
    const { local } = identity.flow(point);
    return local.length > 0 ? local : noNamespace;
  }
  const { pod } = identity.point(resource, point);
  return pod ? [pod.namespace] : noNamespace;
}

/**
 * The account that a stream counts for in `StreamShares`; `''` for unknown senders. Flows have an account of their own:
 * any sender of packets to a pod creates flows, and they must not displace the streams of the pod itself.
 */
export function accountOf(otlpName: string, [namespace = '']: readonly string[]): string {
  return isFlow(otlpName) && namespace !== '' ? `flows/${namespace}` : namespace;
}

/** The values of labels that were made of Resource attributes under one policy, by their redactor. */
export class ResourceLabels {
  readonly #made = new WeakMap<Redactor, WeakMap<Attribute, string | null>>();

  under(redactor: Redactor): WeakMap<Attribute, string | null> {
    let made = this.#made.get(redactor);
    if (!made) this.#made.set(redactor, (made = new WeakMap()));
    return made;
  }
}

/** The labels of a stream under the rules of its pod and namespace, with the requested labels of the pod. */
export function subjectLabels(
  stream: Stream,
  { resource, point, pod, valueOf }: StreamSubject,
  { dropLabels, podLabels }: StreamRules,
  policy: MappingPolicy,
  peers: PeerNames,
  made: ResourceLabels,
): readonly Pair[] {
  const ends = ['k8s.src.namespace', 'k8s.dst.namespace'].map(valueOf).filter(Boolean);
  const redactor = policy.redactors.of(...(pod ? [pod.namespace] : ends));
  const drop = dropSet(policy.dropLabels, dropLabels);
  const { maxLabelValueLength: maxValueLength } = policy.limits;
  const base = streamLabels(resource, point, {
    ...{ drop, maxValueLength, node: policy.node },
    redact: (key, value) => redactor.attribute(key, value),
    made: made.under(redactor),
  });
  const added = new Map<string, string>();
  if (policy.cluster !== '') added.set('k8s_cluster_name', policy.cluster);
  const peer = peers.of(stream, valueOf('server.address'));
  const shown = peer && !dropLabels.includes('server_address') ? redactor.attribute('server.address', peer) : undefined;
  if (shown !== undefined) added.set('server_address', truncate(valueText(shown), maxValueLength));
  for (const key of pod ? podLabels : []) {
    const name = `label_${labelName(key)}`;
    const value = redactor.label(name, ownValue(pod!.labels, key) ?? '');
    if (value && !drop.has(name)) added.set(name, truncate(value, maxValueLength));
  }
  if (added.size === 0) return base;
  const rest = base.filter(([name]) => !added.has(name));
  return [...rest, ...added].sort((a, b) => compareUtf8(a[0], b[0]));
}

function dropSet(always: ReadonlySet<string>, asked: readonly string[]): ReadonlySet<string> {
  const more = asked.filter((name) => !namingLabels.includes(name));
  return more.length > 0 ? new Set([...always, ...more]) : always;
}

const isOwnWord = ({ key }: Attribute): boolean => key !== instanceKey && !isReservedLabel(labelName(key));
const isOwnWords = (attributes: readonly Attribute[]): boolean => attributes.every(isOwnWord);

const flowPrefixes = ['obi.network.', 'beyla.network.', 'obi.stat.', 'beyla.stat.'];

/** True for a metric of network flows or connections: its subject is two ends, not one pod. */
export function isFlow(otlpName: string): boolean {
  return flowPrefixes.some((prefix) => otlpName.startsWith(prefix));
}

/** Namespaces of a stream whose sender is unknown. */
const noNamespace: readonly string[] = [''];

/** Stands for the pod name of a stream whose sender is not a pod on this node. */
const unknownPod: Attribute = { key: 'k8s.pod.name', value: 'unknown' };

import { labelName } from '../mapping/names.ts';
import type { Attribute } from '../otlp/model.ts';
import { instanceKey, lastText, parseInstanceId } from './instance-id.ts';
import type { PodIdentity } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

/** The sender of a Resource, and the verified part of its attributes. */
export interface Enriched {
  /** The Resource without its own Kubernetes attributes, and with those that the API server has for its pod. */
  readonly attributes: readonly Attribute[];
  /** The pod of this node that sent the Resource; null for a process of the node itself, and for an unknown sender. */
  readonly pod: PodIdentity | null;
  readonly container: string;
  /** True when the Resource names a pod or container, truly or falsely. A process of the node itself names none. */
  readonly namesPod: boolean;
  /** True when the Resource is forged, or when its namespace, pod or node attribute is false. */
  readonly contradicts: boolean;
  /** True when the `service.instance.id` of the Resource names another container than that of the metric point. */
  readonly forged: boolean;
}

/** Whether only the agent may write this label. A process can put any attribute, in any spelling, into its Resource. */
export function isReservedLabel(name: string): boolean {
  return (name.startsWith('k8s_') && name !== 'k8s_cluster_name') || name.startsWith('label_');
}

const identityKeys = ['k8s.namespace.name', 'k8s.pod.name', 'k8s.node.name'] as const;

/**
 * The Resource of a process with the attributes of its true pod. The pod is the one that `instance` names, if it is a
 * pod of this node; all other attributes that name Kubernetes objects are dropped, because a pod can set them for
 * itself. `instance` is the point's `service.instance.id` if there is one (a pod cannot set that one), else the
 * Resource's. Until all pods of the node are known every sender is unknown.
 * Shape: pure.
 */
export function enrichResource(
  attributes: readonly Attribute[],
  pods: PodIndex,
  instance = lastText(attributes, instanceKey),
): Enriched {
  const name = parseInstanceId(instance);
  const pod = (pods.synced && name && pods.named(name.namespace, name.pod)) || null;
  const container = pod ? containerOf(pod, name!.container) : '';
  const truth: Record<string, string> = pod
    ? { ...pod.attributes, ...(container ? { 'k8s.container.name': container } : {}) }
    : {};
  const kept = attributes.filter(({ key }) => !isReservedLabel(labelName(key)));
  const added = Object.entries(truth).flatMap(([key, value]) => (value === '' ? [] : [{ key, value }]));
  const claimed = identityKeys.filter((key) => lastText(attributes, key) !== '');
  const own = lastText(attributes, instanceKey);
  const forged = parseInstanceId(own) !== null && own !== instance;
  return {
    attributes: [...kept, ...added],
    pod,
    container,
    namesPod: name !== null || claimed.length > 0 || lastText(attributes, 'container.id') !== '',
    contradicts:
      pods.synced &&
      (forged || (pod !== null && claimed.some((key) => lastText(attributes, key) !== (truth[key] ?? '')))),
    forged,
  };
}

/** The container of that name, if the pod has it; else the pod's only container; else `''`. */
function containerOf(pod: PodIdentity, name: string): string {
  if (pod.containerNames.includes(name)) return name;
  return pod.containerNames.length === 1 ? pod.containerNames[0]! : '';
}

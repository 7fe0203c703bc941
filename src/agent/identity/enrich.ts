import type { Attribute } from '../otlp/model.ts';
import { bareId, type PodIdentity } from './pod-identity.ts';
import type { PodIndex } from './pod-index.ts';

/**
 * What is known of the pod behind a Resource.
 * `known`: it named its pod, and rightly as far as can be told. `filled`: attributes were added or put right.
 * `missing`: no pod is known.
 */
export interface Enriched {
  readonly attributes: readonly Attribute[];
  readonly state: 'known' | 'filled' | 'missing';
  readonly pod?: PodIdentity | undefined;
}

const workloadKeys = [
  'k8s.owner.name',
  'k8s.kind',
  'k8s.deployment.name',
  'k8s.replicaset.name',
  'k8s.statefulset.name',
  'k8s.daemonset.name',
  'k8s.job.name',
  'k8s.cronjob.name',
];

/**
 * The Resource of a process with its Kubernetes attributes filled in, or put right, from the pods of this node.
 *
 * The pod is looked for by what cannot be wrong first: container id, then pod uid, address, and its name. A pod that
 * was replaced under its name (a StatefulSet's) is told by the uid. A found pod's attributes replace those that name
 * another pod; where the Resource names the same pod, only what is absent is added, so that the instrument's own
 * knowledge (the owner of an owner, say) stays.
 * Shape: pure; the same list comes back where nothing changed.
 */
export function enrichResource(attributes: readonly Attribute[], pods: PodIndex): Enriched {
  const text = (key: string): string => {
    const value = attributes.find((a) => a.key === key)?.value;
    return typeof value === 'string' ? value : '';
  };
  const namespace = text('k8s.namespace.name');
  const name = text('k8s.pod.name');
  const container = bareId(text('container.id'));
  const pod = find(pods, { container, uid: text('k8s.pod.uid'), ip: text('k8s.pod.ip'), namespace, name });
  if (!pod) {
    return { attributes, state: name === '' ? 'missing' : 'known' };
  }
  const same = pod.name === name && pod.namespace === namespace;
  const wanted = { ...pod.attributes, ...containerName(pod, container) };
  const added: Attribute[] = [];
  const replaced = new Set<string>();
  if (!same) for (const key of workloadKeys) replaced.add(key);
  for (const [key, value] of Object.entries(wanted)) {
    const before = text(key);
    if (before === value || value === '') continue;
    // The same pod under an older uid is one that was restarted: its uid is wrong, the rest of it is not.
    if (same && before !== '' && key !== 'k8s.pod.uid') continue;
    replaced.add(key);
    added.push({ key, value });
  }
  if (added.length === 0) return { attributes, state: 'known', pod };
  return { attributes: [...attributes.filter((a) => !replaced.has(a.key)), ...added], state: 'filled', pod };
}

/** The ends of a flow, `src` and `dst`, filled in by their addresses where the flow carries them. */
export function enrichFlow(attributes: readonly Attribute[], pods: PodIndex): Enriched {
  const has = (key: string): boolean => attributes.some((a) => a.key === key && a.value !== '');
  const added: Attribute[] = [];
  let known = false;
  for (const end of ['src', 'dst'] as const) {
    if (has(`k8s.${end}.owner.name`) || has(`k8s.${end}.namespace`) || has(`k8s.${end}.name`)) {
      known = true;
      continue;
    }
    const address = attributes.find((a) => a.key === `${end}.address`)?.value;
    const pod = typeof address === 'string' ? pods.withIp(address) : undefined;
    if (!pod) continue;
    const owner = pod.attributes['k8s.owner.name'] ?? pod.name;
    added.push({ key: `k8s.${end}.namespace`, value: pod.namespace });
    added.push({ key: `k8s.${end}.owner.name`, value: owner });
    added.push({ key: `k8s.${end}.owner.type`, value: pod.attributes['k8s.kind'] ?? 'Pod' });
  }
  if (added.length === 0) return { attributes, state: known ? 'known' : 'missing' };
  const keys = new Set(added.map((a) => a.key));
  return { attributes: [...attributes.filter((a) => !keys.has(a.key)), ...added], state: 'filled' };
}

interface Names {
  readonly container: string;
  readonly uid: string;
  readonly ip: string;
  readonly namespace: string;
  readonly name: string;
}

function find(pods: PodIndex, { container, uid, ip, namespace, name }: Names): PodIdentity | undefined {
  return (
    (container ? pods.withContainer(container) : undefined) ??
    (uid ? pods.withUid(uid) : undefined) ??
    (ip ? pods.withIp(ip) : undefined) ??
    (name ? pods.named(namespace, name) : undefined)
  );
}

function containerName(pod: PodIdentity, id: string): Record<string, string> {
  const name = id ? pod.containers.find((c) => c.id === id)?.name : undefined;
  return name ? { 'k8s.container.name': name } : {};
}

import { Identity } from '../agent/identity/identity.ts';
import { instanceKey, lastText } from '../agent/identity/instance-id.ts';
import { podIdentity } from '../agent/identity/pod-identity.ts';
import type { Attribute } from '../agent/otlp/model.ts';
import type { KubeObject } from '../api/meta.ts';

/** What differs from the default pod. */
export interface PodChange {
  readonly uid?: string;
  readonly ip?: string;
  readonly labels?: Record<string, string>;
  readonly containers?: readonly string[];
  /** Kind and name of its controller. */
  readonly owner?: readonly [kind: string, name: string];
}

/** A pod of node `n`, by default with one container `main`. `path` is `namespace/name`. */
export function aPod(path: string, change: PodChange = {}): KubeObject {
  const [namespace, name] = path.split('/');
  const { uid = `uid of ${path}`, ip, labels = {}, containers = ['main'], owner } = change;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace,
      name,
      uid,
      labels,
      ...(owner
        ? { ownerReferences: [{ apiVersion: 'apps/v1', kind: owner[0], name: owner[1], uid: 'o', controller: true }] }
        : {}),
    },
    spec: { nodeName: 'n', containers: containers.map((c) => ({ name: c })) },
    status: ip === undefined ? {} : { podIP: ip },
  } as unknown as KubeObject;
}

/** An `Identity`, the agent's knowledge of its node's pods, that is synced and knows exactly these pods. */
export function nodePods(...pods: readonly (string | KubeObject)[]): Identity {
  const identity = new Identity();
  for (const pod of pods) identity.pods.upsert(podIdentity(typeof pod === 'string' ? aPod(pod) : pod), 0);
  identity.pods.markSynced();
  return identity;
}

/**
 * The Resource that the instrument sends for a container, without the attributes that describe the instrument itself.
 */
export function senderAttributes(path: string, more: Readonly<Record<string, string>> = {}): Attribute[] {
  const [namespace, name] = path.split('/');
  const labels = {
    'k8s.namespace.name': namespace!,
    'k8s.pod.name': name!,
    'k8s.pod.uid': `uid of ${path}`,
    'service.instance.id': `${namespace}.${name}.main`,
    ...more,
  };
  return Object.entries(labels).map(([key, value]) => ({ key, value }));
}

/**
 * Makes `identity` see a metric point under this Resource, as if an agent had received it. The point belongs to the pod
 * that `instance` names; by default, the pod that the Resource itself names.
 */
export function showPoints(
  identity: Identity,
  resource: readonly Attribute[],
  instance = lastText(resource, instanceKey),
  nowMs = 0,
): void {
  const point = [{ key: instanceKey, value: instance }];
  identity.notePoint(resource, point, identity.point(resource, point), nowMs);
}

import type { KubeObject } from '../../api/meta.ts';
import { ownerBehind } from '../../capture/index.ts';

/** One pod of this node as the API server describes it. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ips: readonly string[];
  /** Names of all its containers, including init and ephemeral containers. */
  readonly containerNames: readonly string[];
  /** OTLP attributes that name the pod and its owners, e.g. `k8s.deployment.name`. */
  readonly attributes: Readonly<Record<string, string>>;
  /** The pod has run to completion. Its status still lists its addresses, although another pod may have them by now. */
  readonly ended: boolean;
  /** Pods of the host network share their address with the node, so the address identifies none of them. */
  readonly hostNetwork: boolean;
}

interface PodShape extends KubeObject {
  spec?: {
    nodeName?: string;
    hostNetwork?: boolean;
    containers?: Named[];
    initContainers?: Named[];
    ephemeralContainers?: Named[];
  };
  status?: { phase?: string; podIP?: string; podIPs?: { ip?: string }[] };
}
type Named = { name?: string };

const ownerKeys: Readonly<Record<string, string>> = {
  ReplicaSet: 'k8s.replicaset.name',
  StatefulSet: 'k8s.statefulset.name',
  DaemonSet: 'k8s.daemonset.name',
  Job: 'k8s.job.name',
};

/** The attributes that name an owner of a pod. */
export const ownerAttributes: readonly string[] = [
  ...Object.values(ownerKeys),
  'k8s.deployment.name',
  'k8s.cronjob.name',
  'k8s.owner.name',
];

/** The identity of a pod as the API server returns it. Shape: pure; absent members are left out. */
export function podIdentity(pod: KubeObject): PodIdentity {
  const { metadata, spec, status } = pod as PodShape;
  const namespace = metadata.namespace ?? '';
  const name = metadata.name ?? '';
  const containers = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers].flatMap((c) => c ?? []);
  return {
    namespace,
    name,
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
    ips: [...new Set([status?.podIP, ...(status?.podIPs ?? []).map((p) => p.ip)])].filter((ip) => ip !== undefined),
    containerNames: containers.flatMap((c) => c.name ?? []),
    attributes: {
      'k8s.namespace.name': namespace,
      'k8s.pod.name': name,
      'k8s.pod.uid': metadata.uid ?? '',
      ...(spec?.nodeName ? { 'k8s.node.name': spec.nodeName } : {}),
      ...owners(pod),
    },
    ended: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    hostNetwork: spec?.hostNetwork ?? false,
  };
}

/** The part of a pod that is kept in the cache: all that `podIdentity` reads. */
export function slimPod(pod: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = pod as PodShape;
  const { name, namespace, uid, labels, ownerReferences, resourceVersion, deletionTimestamp } = metadata;
  const names = (list: readonly Named[] | undefined): Named[] =>
    (list ?? []).map((c) => (c.name ? { name: c.name } : {}));
  const slim = {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, labels, ownerReferences, resourceVersion, deletionTimestamp },
    spec: {
      nodeName: spec?.nodeName,
      hostNetwork: spec?.hostNetwork,
      containers: names(spec?.containers),
      initContainers: names(spec?.initContainers),
      ephemeralContainers: names(spec?.ephemeralContainers),
    },
    status: { phase: status?.phase, podIP: status?.podIP, podIPs: status?.podIPs },
  };
  return slim as unknown as KubeObject;
}

/** The attributes of the controlling owner, and of that owner's own owner. */
function owners({ metadata }: KubeObject): Record<string, string> {
  const owner = metadata.ownerReferences?.find((o) => o.controller);
  if (!owner) return {};
  const behind = ownerBehind(owner, metadata.labels ?? {});
  const key = ownerKeys[owner.kind];
  const { kind, name } = behind ?? owner;
  return {
    ...(key ? { [key]: owner.name } : {}),
    ...(behind ? { [`k8s.${behind.kind.toLowerCase()}.name`]: behind.name } : {}),
    'k8s.owner.name': name,
    'k8s.kind': kind,
  };
}

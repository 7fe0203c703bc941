import type { KubeObject } from '../../api/meta.ts';

/** What the API server says of one pod of this node, in the words of the labels. */
export interface PodIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ips: readonly string[];
  /** Container ids without their runtime's prefix, and the containers' names. */
  readonly containers: readonly { readonly id: string; readonly name: string }[];
  /** OTLP attributes that name the pod and its owners, e.g. `k8s.deployment.name`. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Pods of the host network share their address with the node: it names none of them. */
  readonly hostNetwork: boolean;
}

interface PodShape extends KubeObject {
  spec?: { nodeName?: string; hostNetwork?: boolean; containers?: { name?: string }[] };
  status?: {
    podIP?: string;
    podIPs?: { ip?: string }[];
    containerStatuses?: Statuses;
    initContainerStatuses?: Statuses;
  };
}
type Statuses = { name?: string; containerID?: string }[];

const ownerKeys: Readonly<Record<string, string>> = {
  ReplicaSet: 'k8s.replicaset.name',
  StatefulSet: 'k8s.statefulset.name',
  DaemonSet: 'k8s.daemonset.name',
  Job: 'k8s.job.name',
};

/** The identity of a pod as the API server returns it. Shape: pure; members that are not there are left out. */
export function podIdentity(pod: KubeObject): PodIdentity {
  const { metadata, spec, status } = pod as PodShape;
  const namespace = metadata.namespace ?? '';
  const name = metadata.name ?? '';
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return {
    namespace,
    name,
    uid: metadata.uid ?? '',
    labels: metadata.labels ?? {},
    ips: [...new Set([status?.podIP, ...(status?.podIPs ?? []).map((p) => p.ip)])].filter((ip) => ip !== undefined),
    containers: statuses.map((s) => ({ id: bareId(s.containerID ?? ''), name: s.name ?? '' })),
    attributes: {
      'k8s.namespace.name': namespace,
      'k8s.pod.name': name,
      'k8s.pod.uid': metadata.uid ?? '',
      ...(spec?.nodeName ? { 'k8s.node.name': spec.nodeName } : {}),
      ...(spec?.containers?.length === 1 && spec.containers[0]?.name
        ? { 'k8s.container.name': spec.containers[0].name }
        : {}),
      ...owners(pod),
    },
    hostNetwork: spec?.hostNetwork ?? false,
  };
}

/** The id without `containerd://`, `cri-o://` or `docker://`. */
export function bareId(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

/** What is kept of a pod in the cache: all that `podIdentity` reads. */
export function slimPod(pod: KubeObject): KubeObject {
  const { apiVersion, kind, metadata, spec, status } = pod as PodShape;
  const { name, namespace, uid, labels, ownerReferences, resourceVersion, deletionTimestamp } = metadata;
  const statuses = (list: Statuses | undefined): Statuses =>
    (list ?? []).map((s) => ({
      ...(s.name ? { name: s.name } : {}),
      ...(s.containerID ? { containerID: s.containerID } : {}),
    }));
  const slim = {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, labels, ownerReferences, resourceVersion, deletionTimestamp },
    spec: {
      nodeName: spec?.nodeName,
      hostNetwork: spec?.hostNetwork,
      containers: (spec?.containers ?? []).map((c) => ({ name: c.name })),
    },
    status: {
      podIP: status?.podIP,
      podIPs: status?.podIPs,
      containerStatuses: statuses(status?.containerStatuses),
      initContainerStatuses: statuses(status?.initContainerStatuses),
    },
  };
  return slim as unknown as KubeObject;
}

/**
 * The controlling owner, and its own owner as its name tells it: a Deployment names its ReplicaSets with a hash, which
 * the pod carries as a label; a CronJob names its Jobs with the scheduled minute.
 */
function owners(pod: KubeObject): Record<string, string> {
  const owner = pod.metadata.ownerReferences?.find((o) => o.controller);
  if (!owner) return {};
  const { kind, name } = owner;
  const key = ownerKeys[kind];
  const own = key ? { [key]: name } : {};
  const hash = pod.metadata.labels?.['pod-template-hash'];
  if (kind === 'ReplicaSet' && hash && name.endsWith(`-${hash}`)) {
    const deployment = name.slice(0, -hash.length - 1);
    return { ...own, 'k8s.deployment.name': deployment, 'k8s.owner.name': deployment, 'k8s.kind': 'Deployment' };
  }
  const cronJob = kind === 'Job' ? /^(.+)-[0-9]{8,}$/.exec(name)?.[1] : undefined;
  if (cronJob) return { ...own, 'k8s.cronjob.name': cronJob, 'k8s.owner.name': cronJob, 'k8s.kind': 'CronJob' };
  return { ...own, 'k8s.owner.name': name, 'k8s.kind': kind };
}

import type { KubeObject } from '../api/meta.ts';

interface ContainerStatus {
  name: string;
  image?: string;
  state?: { waiting?: { reason?: string; message?: string } };
}
interface PodStatus {
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
}

/** The kubelet's words for an image that it cannot get. It alternates between the first two. */
const pullReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
]);

/** Drops everything of a pod but what says who it is and why its containers wait: few read more of it. */
export const podTroubleTransform = {
  name: 'pod-trouble',
  apply(pod: KubeObject): KubeObject {
    const { name, namespace, uid, resourceVersion, labels, deletionTimestamp } = pod.metadata;
    const all = { name, namespace, uid, resourceVersion, labels, deletionTimestamp };
    const metadata = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
    const { containerStatuses, initContainerStatuses } = (pod['status'] ?? {}) as PodStatus;
    const status = {
      containerStatuses: (containerStatuses ?? []).filter((c) => c.state?.waiting),
      initContainerStatuses: (initContainerStatuses ?? []).filter((c) => c.state?.waiting),
    };
    return { apiVersion: pod.apiVersion, kind: pod.kind, metadata, status };
  },
};

/** One sentence about the first of the pods whose image cannot be pulled; undefined when there is none. Pure. */
export function imagePullTrouble(pods: readonly KubeObject[]): string | undefined {
  const byName = pods.toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  for (const pod of byName) {
    if (pod.metadata.deletionTimestamp !== undefined) continue;
    const status = (pod['status'] ?? {}) as PodStatus;
    const containers = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    const stuck = containers.find((c) => pullReasons.has(c.state?.waiting?.reason ?? ''));
    if (!stuck) continue;
    const { namespace = '', name = '' } = pod.metadata;
    // The kubelet's own words change with every try; a status that repeated them would never settle.
    return `the image ${stuck.image ?? ''} of container ${stuck.name} cannot be pulled; kubectl -n ${namespace} describe pod ${name} tells why`;
  }
  return undefined;
}

import { cutToUnits } from '../base/text/texts.ts';
import { someMeta, type KubeObject } from '../api/meta.ts';
import { containersOf, type ContainerStatus, type PodStatus } from '../api/statuses.ts';

/** The kubelet's reasons for an image that it cannot pull. It alternates between the first two. */
const pullReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
]);

/** Whether a container waits because its image cannot be pulled. */
export function isPullReason(reason: string): boolean {
  return pullReasons.has(reason);
}

/** Keeps what the functions below read of a pod: its identity, and the statuses of containers that wait. */
export const podTroubleTransform = {
  name: 'pod-trouble',
  apply(pod: KubeObject): KubeObject {
    const { metadata } = pod;
    const kept = someMeta(metadata, 'name', 'namespace', 'uid', 'resourceVersion', 'labels', 'deletionTimestamp');
    const { containerStatuses, initContainerStatuses } = (pod['status'] ?? {}) as PodStatus;
    const status = {
      containerStatuses: (containerStatuses ?? []).filter((c) => c.state?.waiting),
      initContainerStatuses: (initContainerStatuses ?? []).filter((c) => c.state?.waiting),
    };
    return { apiVersion: pod.apiVersion, kind: pod.kind, metadata: kept, status };
  },
};

/**
 * One sentence about the first pod that crashes repeatedly, with the last line of its log; undefined when there is
 * none. Pure.
 */
export function crashTrouble(pods: readonly KubeObject[]): string | undefined {
  for (const { pod, containers } of livingByName(pods)) {
    const crashed = containers.find((c) => c.state?.waiting?.reason === 'CrashLoopBackOff' && c.lastState?.terminated);
    if (!crashed) continue;
    const { exitCode, reason, message = '' } = crashed.lastState!.terminated!;
    const why = reason === 'OOMKilled' ? 'was ended at its memory limit' : `ended with code ${exitCode}`;
    const words = lastLine(message);
    return `container ${crashed.name} of pod ${pod.metadata.name} ${why}${words === '' ? '' : `: ${words}`}`;
  }
  return undefined;
}

/**
 * The text of the last line of a log. Of our own lines, which are JSON, only message and error are taken: their time
 * would change the status with every crash.
 */
function lastLine(log: string): string {
  const line = log.trim().split('\n').at(-1) ?? '';
  try {
    const { msg, error } = JSON.parse(line) as { msg?: unknown; error?: unknown };
    const parts = [msg, error].filter((part) => typeof part === 'string' && part !== '');
    return cutToUnits(parts.join(': '), 300);
  } catch {
    return cutToUnits(line, 300);
  }
}

/** One sentence about the first of the pods whose image cannot be pulled; undefined when there is none. Pure. */
export function imagePullTrouble(pods: readonly KubeObject[]): string | undefined {
  for (const { pod, containers } of livingByName(pods)) {
    const stuck = containers.find((c) => isPullReason(c.state?.waiting?.reason ?? ''));
    if (!stuck) continue;
    const { namespace = '', name = '' } = pod.metadata;
    // The kubelet's own message changes with every try; a status that repeated it would never settle.
    return `the image ${stuck.image ?? ''} of container ${stuck.name} cannot be pulled; kubectl -n ${namespace} describe pod ${name} tells why`;
  }
  return undefined;
}

function livingByName(pods: readonly KubeObject[]): { pod: KubeObject; containers: ContainerStatus[] }[] {
  return pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined)
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
    .map((pod) => ({ pod, containers: containersOf(pod['status'] as PodStatus | undefined) }));
}

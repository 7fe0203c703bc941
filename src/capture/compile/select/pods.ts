import type { TrafficMonitorSpec, WorkloadKind } from '../../../api/v1alpha1/index.ts';
import { matchesGlob, matchesSelector } from './selector.ts';
import type { PodFacts } from '../types.ts';

/** The pods that the selection fields of a monitor match, within its own namespace. The instrument judges ports. */
export function matchPods(spec: TrafficMonitorSpec, podsOfNamespace: readonly PodFacts[]): PodFacts[] {
  return podsOfNamespace.filter(
    (pod) =>
      matchesSelector(spec.selector, pod.labels) &&
      (!spec.workloads || spec.workloads.some((w) => isWorkload(pod, w))) &&
      (!spec.containers?.include ||
        spec.containers.include.some((glob) => pod.containers.some((name) => matchesGlob(glob, name)))),
  );
}

function isWorkload(pod: PodFacts, { kind, name }: { kind: WorkloadKind; name: string }): boolean {
  const actual = workloadName(pod, kind);
  return actual !== undefined && matchesGlob(name, actual);
}

/**
 * The name of the pod's workload of that kind, as the instrument names it: a Deployment is derived from its
 * ReplicaSet's name without the template hash, a CronJob by its Job's name without the scheduled minute.
 */
export function workloadName(pod: PodFacts, kind: WorkloadKind): string | undefined {
  if (kind === 'Pod') return pod.name;
  const owner = pod.owner;
  if (!owner) return undefined;
  if (owner.kind === kind) return owner.name;
  if (kind === 'Deployment' && owner.kind === 'ReplicaSet') {
    const hash = pod.labels['pod-template-hash'];
    return hash && owner.name.endsWith(`-${hash}`) ? owner.name.slice(0, -hash.length - 1) : undefined;
  }
  if (kind === 'CronJob' && owner.kind === 'Job') return /^(.+)-[0-9]{8,}$/.exec(owner.name)?.[1];
  return undefined;
}

import type { TrafficMonitorSpec, WorkloadKind } from '../../../api/v1alpha1/index.ts';
import { matchesGlob, matchesSelector } from './selector.ts';
import type { PodFacts } from '../types.ts';

/**
 * The pods that the selection fields of a monitor match, within its own namespace. Ports are not checked: only the
 * instrument knows them.
 */
export function matchPods(spec: TrafficMonitorSpec, podsOfNamespace: readonly PodFacts[]): PodFacts[] {
  return podsOfNamespace.filter(
    (pod) =>
      matchesSelector(spec.selector, pod.labels) &&
      (!spec.workloads || spec.workloads.some((w) => isWorkload(pod, w))) &&
      (!spec.containers?.include ||
        spec.containers.include.some((glob) => pod.containers.some((name) => matchesGlob(glob, name)))),
  );
}

/** The containers of a pod's spec that run as long as the pod. */
export interface LastingContainers<C> {
  readonly containers?: readonly C[];
  readonly initContainers?: readonly (C & { readonly restartPolicy?: string })[];
}

/** The containers that run as long as their pod: its own, and its sidecars (init containers that always restart). */
export function lastingContainers<C>(spec: LastingContainers<C> | undefined): C[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...(spec?.containers ?? []), ...sidecars];
}

function isWorkload(pod: PodFacts, { kind, name }: { kind: WorkloadKind; name: string }): boolean {
  const actual = workloadName(pod, kind);
  return actual !== undefined && matchesGlob(name, actual);
}

/** The name of the pod's workload of that kind, as the instrument names it. */
export function workloadName(pod: PodFacts, kind: WorkloadKind): string | undefined {
  if (kind === 'Pod') return pod.name;
  const { owner, labels } = pod;
  return [owner, owner && ownerBehind(owner, labels)].find((one) => one?.kind === kind)?.name;
}

/**
 * The owner of a pod's owner, derived from the name of that owner: a Deployment names its ReplicaSets with a hash,
 * which the pod carries as a label; a CronJob names its Jobs with the scheduled minute.
 */
export function ownerBehind(
  { kind, name }: { readonly kind: string; readonly name: string },
  labels: Readonly<Record<string, string>>,
): { readonly kind: 'Deployment' | 'CronJob'; readonly name: string } | undefined {
  const hash = labels['pod-template-hash'];
  if (kind === 'ReplicaSet' && hash && name.endsWith(`-${hash}`)) {
    return { kind: 'Deployment', name: name.slice(0, -hash.length - 1) };
  }
  const cronJob = kind === 'Job' ? /^(.+)-[0-9]{8,}$/.exec(name)?.[1] : undefined;
  return cronJob === undefined ? undefined : { kind: 'CronJob', name: cronJob };
}

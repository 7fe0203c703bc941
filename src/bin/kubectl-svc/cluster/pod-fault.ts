import { conditionOf, containersOf, holds, type ContainerStatus } from '../../../api/statuses.ts';
import type { PodObject } from '../../../controllers/capture/facts.ts';
import { instrumentContainerName, instrumentFault } from '../../../controllers/capture/failures/instrument-fault.ts';

/** A pod with the status of its containers and conditions. */
export type PodWithStatus = PodObject;

/** Whether the kubelet reports the pod as ready. */
export function isReadyPod(pod: PodWithStatus): boolean {
  return holds(pod, 'Ready');
}

/** Why a pod is not ready, as a sentence, with the last log line of an ended container; null for a ready pod. */
export function podFault(pod: PodWithStatus): string | null {
  const { metadata, spec, status } = pod;
  if (metadata.deletionTimestamp !== undefined) return 'is ending';
  if (isReadyPod(pod)) return null;
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') {
    return [`has ended (${status.reason ?? status.phase})`, status.message].filter(Boolean).join(': ');
  }
  const unscheduled = conditionOf(pod, 'PodScheduled');
  if (unscheduled?.status === 'False')
    return `is not scheduled: ${unscheduled.message ?? unscheduled.reason ?? 'no node takes it'}`;
  if (!spec?.nodeName) return 'is not scheduled yet';
  const containers = containersOf(status);
  const stuck = containers.map(containerFault).find((fault) => fault !== null);
  if (stuck) return stuck;
  const waits = containers.find((c) => c.ready === false && c.state?.running);
  if (waits) {
    const probe = waits.started === false ? 'startup' : 'readiness';
    return `runs and is not ready: the ${probe} probe of container ${waits.name} has not succeeded`;
  }
  return `is not ready yet (${status?.phase ?? 'no status'})`;
}

/** Why one container does not run; null when it runs or has completed. */
function containerFault(container: ContainerStatus): string | null {
  const { name, image = '', state, lastState, restartCount = 0 } = container;
  const { waiting, terminated } = state ?? {};
  if (terminated?.exitCode === 0) return null;
  const ended = terminated ?? (waiting ? lastState?.terminated : undefined);
  if (ended) {
    const times = restartCount > 0 ? `, ${restartCount} restarts` : '';
    return `container ${name} ended with code ${ended.exitCode}${times}: ${lastWords(container)}`;
  }
  if (!waiting || waiting.reason === 'PodInitializing' || waiting.reason === 'ContainerCreating') return null;
  if (/Image/.test(waiting.reason ?? ''))
    return `container ${name}: the image ${image} cannot be pulled (${waiting.reason})`;
  return `container ${name} waits: ${[waiting.reason, waiting.message].filter(Boolean).join(': ')}`;
}

/** What a container said last before it ended: the fault of the instrument, or its last line. */
function lastWords(container: ContainerStatus): string {
  const { terminated = container.lastState?.terminated } = container.state ?? {};
  if (container.name === instrumentContainerName) {
    const fault = instrumentFault([{ name: container.name, ...(terminated ? { state: { terminated } } : {}) }]);
    if (fault) return `${fault.reason}, ${fault.message}`;
  }
  const line = (terminated?.message ?? '').trim().split('\n').at(-1)?.trim() ?? '';
  return (line || terminated?.reason || 'no termination message').slice(0, 300);
}

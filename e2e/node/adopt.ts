import type { ContainerRecord } from './pod-status.ts';
import type { Container, Pod } from './types.ts';

/**
 * The containers of a pod as this node last left them, from the status that it wrote then. In a new pod none has run.
 * After a restart of the node, containers that ran are dead, with exit code 255 and reason Unknown as a kubelet reports
 * it. They will run again if the restart policy allows; init containers always run again.
 * Shape: pure. Order: init containers and sidecars as written, then the others.
 */
export function adoptContainers(pod: Pod, now: string): ContainerRecord[] {
  return [
    ...(pod.spec.initContainers ?? []).map((spec) =>
      adopt(pod, spec, spec.restartPolicy === 'Always' ? 'sidecar' : 'init', now),
    ),
    ...pod.spec.containers.map((spec) => adopt(pod, spec, 'main', now)),
  ];
}

function adopt(pod: Pod, spec: Container, kind: ContainerRecord['kind'], now: string): ContainerRecord {
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const before = statuses.find((s) => s.name === spec.name);
  const running = before?.state.running;
  const terminated = running
    ? { exitCode: 255, reason: 'Unknown', message: 'the node went down', startedAt: running.startedAt, finishedAt: now }
    : (before?.state.terminated ?? before?.lastState.terminated);
  const policy = pod.spec.restartPolicy ?? 'Always';
  const podIsOver = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
  const ended = running !== undefined || before?.state.terminated !== undefined;
  const mayRunAgain =
    kind !== 'main' || policy === 'Always' || (policy === 'OnFailure' && terminated?.exitCode !== 0) || !ended;
  return {
    spec,
    kind,
    restarts: before?.restartCount ?? 0,
    ...(terminated ? { terminated } : {}),
    willRun: !podIsOver && mayRunAgain,
    started: false,
    ready: false,
  };
}

import type { Condition, Container, ContainerStatus, Pod, PodStatus, Terminated } from './types.ts';

/** A node's record of one container of a pod. */
export interface ContainerRecord {
  readonly spec: Container;
  readonly kind: 'init' | 'sidecar' | 'main';
  /** How often the container was restarted. */
  restarts: number;
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string; containerID: string };
  /** The latest end: the container's state if it will not run again, else its last state. */
  terminated?: Terminated;
  /** True while the container runs or is about to be started. */
  willRun: boolean;
  started: boolean;
  ready: boolean;
}

export interface PodFacts {
  podIP: string | undefined;
  hostIP: string;
  startTime: string;
  now: string;
}

/**
 * The status that a node writes for a pod, from its records of the containers.
 * Shape: pure. Conditions of other owners are not part of it: the node's patch leaves them alone.
 */
export function podStatus(pod: Pod, records: readonly ContainerRecord[], facts: PodFacts): PodStatus {
  const inits = records.filter((r) => r.kind !== 'main');
  const mains = records.filter((r) => r.kind === 'main');
  const phase = podPhase(records);
  const initialized = inits.every(initDone);
  const finished = phase === 'Succeeded' || phase === 'Failed';
  const unready = records.filter((r) => r.kind !== 'init' && !r.ready).map((r) => r.spec.name);
  const containersReady = !finished && unready.length === 0 && initialized;
  const gatesOpen = (pod.spec.readinessGates ?? []).every((gate) =>
    pod.status?.conditions?.some((c) => c.type === gate.conditionType && c.status === 'True'),
  );
  const why = finished
    ? { reason: phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed' }
    : { reason: 'ContainersNotReady', message: `containers with unready status: [${unready.join(' ')}]` };
  const conditions: Condition[] = [
    condition('PodReadyToStartContainers', facts.podIP !== undefined && !finished, {}),
    condition('Initialized', initialized, {
      reason: 'ContainersNotInitialized',
      message: `containers with incomplete status: [${inits
        .filter((r) => !initDone(r))
        .map((r) => r.spec.name)
        .join(' ')}]`,
    }),
    condition('ContainersReady', containersReady, why),
    condition('Ready', containersReady && gatesOpen, containersReady ? { reason: 'ReadinessGatesNotReady' } : why),
    condition('PodScheduled', true, {}),
  ];
  return {
    phase,
    conditions: conditions.map((c) => withTransition(c, pod, facts.now)),
    hostIP: facts.hostIP,
    ...(facts.podIP === undefined ? {} : { podIP: facts.podIP, podIPs: [{ ip: facts.podIP }] }),
    startTime: facts.startTime,
    ...(inits.length === 0 ? {} : { initContainerStatuses: inits.map(containerStatus) }),
    containerStatuses: mains.map(containerStatus),
  };
}

/** Pending until every container has been started once; Succeeded or Failed when none will run again. */
export function podPhase(records: readonly ContainerRecord[]): string {
  const failedInit = records.some((r) => r.kind === 'init' && over(r) && r.terminated?.exitCode !== 0);
  if (failedInit) return 'Failed';
  const mains = records.filter((r) => r.kind === 'main');
  if (mains.length > 0 && mains.every(over)) {
    return mains.every((r) => r.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed';
  }
  return mains.every((r) => r.running !== undefined || r.terminated !== undefined) && mains.length > 0
    ? 'Running'
    : 'Pending';
}

export function containerStatus(record: ContainerRecord): ContainerStatus {
  const { spec, running, terminated, waiting } = record;
  const state = running
    ? { running: { startedAt: running.startedAt } }
    : terminated && !record.willRun
      ? { terminated }
      : { waiting: waiting ?? { reason: record.kind === 'main' ? 'ContainerCreating' : 'PodInitializing' } };
  const id = running?.containerID ?? terminated?.containerID;
  return {
    name: spec.name,
    image: spec.image,
    imageID: `process-node/${spec.image}`,
    ...(id === undefined ? {} : { containerID: id }),
    ready: record.kind === 'init' ? initDone(record) : record.ready,
    started: record.started,
    restartCount: record.restarts,
    state,
    lastState: terminated && (running || record.willRun) ? { terminated } : {},
  };
}

/** True when a container has ended and will not run again. */
export const over = (r: ContainerRecord): boolean => r.terminated !== undefined && !r.running && !r.willRun;

/** True when an init container no longer holds up the next one. */
export const initDone = (r: ContainerRecord): boolean =>
  r.kind === 'sidecar' ? r.started : r.kind === 'init' && over(r) && r.terminated?.exitCode === 0;

function condition(type: string, ok: boolean, otherwise: { reason?: string; message?: string }): Condition {
  return {
    type,
    status: ok ? 'True' : 'False',
    reason: ok ? null : (otherwise.reason ?? null),
    message: ok ? null : (otherwise.message ?? null),
  };
}

function withTransition(next: Condition, pod: Pod, now: string): Condition {
  const before = pod.status?.conditions?.find((c) => c.type === next.type);
  const same = before?.status === next.status && before.lastTransitionTime !== undefined;
  return {
    ...next,
    ...(pod.metadata.generation === undefined ? {} : { observedGeneration: pod.metadata.generation }),
    lastTransitionTime: same ? (before.lastTransitionTime ?? now) : now,
  };
}

/** Statuses that Kubernetes and others write, as far as we read them. */
import type { KubeObject } from './meta.ts';

/** A condition of a third-party kind: it may lack a reason and a message. */
export interface StatedCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

/** A status with conditions. For a CRD, the API server writes `null` until the first condition is set. */
export interface ConditionedStatus {
  readonly conditions?: readonly StatedCondition[] | null;
}

/** The condition of a type in the status of an object of any kind; undefined without one. */
export function conditionOf(object: object | undefined, type: string): StatedCondition | undefined {
  return (object as { status?: ConditionedStatus } | undefined)?.status?.conditions?.find((c) => c.type === type);
}

/** Whether the status of an object says True for a condition. */
export function holds(object: object | undefined, type: string): boolean {
  return conditionOf(object, type)?.status === 'True';
}

interface WorkloadStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  desiredNumberScheduled?: number;
  updatedNumberScheduled?: number;
  numberReady?: number;
  numberAvailable?: number;
}

/** The number of wanted pods of a workload, and how many pods are of its newest template, ready, and available. */
export interface Rollout {
  /** Its controller has seen the newest generation. */
  seen: boolean;
  wanted: number;
  updated: number;
  ready: number;
  available: number;
  /** All wanted pods are of the newest template and available, and none of an older one is left. */
  done: boolean;
}

/** The progress of a Deployment or DaemonSet; undefined stands for a workload that does not exist yet. Pure. */
export function rolloutOf(workload: KubeObject | undefined): Rollout {
  const spec = (workload?.['spec'] ?? {}) as { replicas?: number };
  const status = (workload?.['status'] ?? {}) as WorkloadStatus;
  const perNode = status.desiredNumberScheduled !== undefined;
  const wanted = status.desiredNumberScheduled ?? spec.replicas ?? 1;
  const updated = (perNode ? status.updatedNumberScheduled : status.updatedReplicas) ?? 0;
  const ready = (perNode ? status.numberReady : status.readyReplicas) ?? 0;
  const available = (perNode ? status.numberAvailable : status.availableReplicas) ?? 0;
  const seen = (status.observedGeneration ?? 0) >= (workload?.metadata.generation ?? 0);
  const done = seen && updated >= wanted && available >= wanted && (status.replicas ?? 0) <= updated;
  return { seen, wanted, updated, ready, available, done };
}

/** How a run of a container ended. */
export interface Terminated {
  exitCode: number;
  reason?: string;
  /** The last lines of its log when it failed, where the pod sets `FallbackToLogsOnError`. */
  message?: string;
  finishedAt?: string;
}

interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: Terminated;
}

export interface ContainerStatus {
  name: string;
  image?: string;
  ready?: boolean;
  /** False until its startup probe has succeeded. */
  started?: boolean;
  restartCount?: number;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface PodStatus extends ConditionedStatus {
  phase?: string;
  podIP?: string;
  reason?: string;
  message?: string;
  containerStatuses?: ContainerStatus[];
  initContainerStatuses?: ContainerStatus[];
}

/** The containers of a pod, init containers first. */
export function containersOf(status: PodStatus | undefined): ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

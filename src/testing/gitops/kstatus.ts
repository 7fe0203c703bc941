import type { Condition, KubeObject } from '../../api/meta.ts';

/** The status of an object as kstatus computes it. Flux, kpt and other tools use kstatus. */
export type KStatus = 'InProgress' | 'Failed' | 'Current' | 'Terminating';

/** The status of an object, and its reason. */
export interface KStatusResult {
  status: KStatus;
  /** Why, for a failing test. */
  message: string;
}

/**
 * The kstatus rules for a custom resource, as a pure function.
 * Flow: being deleted → Terminating; a generation not observed yet → InProgress; `Reconciling` True → InProgress, or
 * `Stalled` True → Failed, whichever condition is listed first; `Ready` not True → InProgress; otherwise Current.
 * Caveats: an object without `Ready` and without `observedGeneration` counts as Current immediately. Therefore our
 * controllers write both with their very first status.
 * Source: sigs.k8s.io/cli-utils, pkg/kstatus/status, rules for generic resources; `make e2e-peers` compares this
 * function with it.
 */
export function kstatus(object: KubeObject): KStatusResult {
  const { metadata } = object;
  const status = (object['status'] ?? {}) as { observedGeneration?: number; conditions?: Condition[] };
  if (metadata.deletionTimestamp !== undefined) return { status: 'Terminating', message: 'is being deleted' };
  const { observedGeneration } = status;
  if (observedGeneration !== undefined && observedGeneration !== metadata.generation) {
    const message = `observed generation ${observedGeneration}, want ${metadata.generation ?? 'none'}`;
    return { status: 'InProgress', message };
  }
  const busy = status.conditions?.find((c) => ['Reconciling', 'Stalled'].includes(c.type) && c.status === 'True');
  if (busy) return { status: busy.type === 'Stalled' ? 'Failed' : 'InProgress', message: textOf(busy) };
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  if (ready && ready.status !== 'True') return { status: 'InProgress', message: textOf(ready) };
  return { status: 'Current', message: ready ? textOf(ready) : 'has no Ready condition' };
}

const textOf = ({ type, reason, message }: Condition) => `${type}: ${reason}: ${message}`;

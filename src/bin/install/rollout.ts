import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
import type { InstallerDeps } from './installer.ts';

interface WorkloadStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
  desiredNumberScheduled?: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
}

/** How far a workload is: `3/3 nodes`, and whether that is all. Pure. */
export function rolloutState(workload: KubeObject | undefined): { done: boolean; text: string } {
  if (!workload) return { done: false, text: 'not there yet' };
  const status = (workload['status'] ?? {}) as WorkloadStatus;
  if ((status.observedGeneration ?? 0) < (workload.metadata.generation ?? 0))
    return { done: false, text: 'not looked at yet' };
  if (workload.kind === 'DaemonSet') {
    const { desiredNumberScheduled: wanted = 0, updatedNumberScheduled: updated = 0, numberAvailable = 0 } = status;
    return {
      done: updated >= wanted && numberAvailable >= wanted,
      text: `${Math.min(updated, numberAvailable)}/${wanted} nodes`,
    };
  }
  const { replicas: wanted = 1 } = (workload['spec'] ?? {}) as { replicas?: number };
  const { updatedReplicas = 0, availableReplicas = 0, replicas = 0 } = status;
  const done = updatedReplicas >= wanted && availableReplicas >= wanted && replicas <= updatedReplicas;
  return { done, text: `${Math.min(updatedReplicas, availableReplicas)}/${wanted} replicas` };
}

/** What an installation consists of when it runs, in the order in which the parts come up. */
const parts: readonly [ResourceRef, string][] = [
  [coreResources.deployments, names.controller],
  [coreResources.daemonSets, names.agent],
  [coreResources.deployments, names.query],
];

/**
 * Waits until operator, agents and query servers run as wanted, and tells each step once.
 * Errors: ERR_TIMEOUT that names what is not there, and how far it is.
 */
export async function untilRolledOut(
  namespace: string,
  timeoutMs: number,
  { client, clock, signal }: InstallerDeps,
  progress: (line: string) => void,
): Promise<void> {
  const deadline = clock.monotonic() + timeoutMs;
  for (const [resource, name] of parts) {
    const title = `${resource.kind.toLowerCase()}/${name}`;
    for (let told = ''; ;) {
      const { done, text } = rolloutState(
        await getIfExists<KubeObject>(client, resource, { namespace, name }, { signal }),
      );
      if (text !== told) progress(`${title}: ${text}`);
      told = text;
      if (done) break;
      if (clock.monotonic() >= deadline)
        throw new OperatorError('ERR_TIMEOUT', `${title} is not ready after ${timeoutMs / 1000} s: ${text}`);
      await sleep(clock, 500, signal);
    }
  }
}

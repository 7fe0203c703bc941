import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { rolloutOf } from '../../api/statuses.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
import type { InstallerDeps } from './installer.ts';

/** The progress of a workload's rollout, such as `3/3 nodes`, and whether it is complete. Pure. */
export function rolloutState(workload: KubeObject | undefined): { done: boolean; text: string } {
  if (!workload) return { done: false, text: 'not there yet' };
  const { seen, wanted, updated, available, done } = rolloutOf(workload);
  if (!seen) return { done, text: 'not observed by its controller yet' };
  const unit = workload.kind === 'DaemonSet' ? 'nodes' : 'replicas';
  return { done, text: `${Math.min(updated, available)}/${wanted} ${unit}` };
}

/** The workloads of a running installation, in the order in which they start. */
const parts: readonly [ResourceRef, string][] = [
  [coreResources.deployments, names.controller],
  [coreResources.daemonSets, names.agent],
  [coreResources.deployments, names.query],
];

/**
 * Waits until operator, agents and query servers are rolled out, one after another, and reports each step once.
 * Errors: ERR_TIMEOUT that names the first workload that is not ready, and its progress.
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
    for (let shown = ''; ;) {
      const { done, text } = rolloutState(
        await getIfExists<KubeObject>(client, resource, { namespace, name }, { signal }),
      );
      if (text !== shown) progress(`${title}: ${text}`);
      shown = text;
      if (done) break;
      if (clock.monotonic() >= deadline)
        throw new OperatorError('ERR_TIMEOUT', `${title} is not ready after ${timeoutMs / 1000} s: ${text}`);
      await sleep(clock, 500, signal);
    }
  }
}

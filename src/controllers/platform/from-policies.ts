import type { ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { comparePolicies } from '../../capture/index.ts';
import type { PlatformInput } from '../../render/index.ts';

/**
 * What policies say about the one DaemonSet of the agents. Pure.
 *
 * Flows are read from the host's own network devices, so capturing them anywhere puts the agents into the host's
 * network: any policy that asks for flows decides it. How many agents may be replaced at a time is for the strongest
 * policy that says so, in the order in which policies beat each other everywhere.
 */
export function fromPolicies(
  base: PlatformInput,
  policies: readonly ClusterTrafficPolicy[],
): Pick<PlatformInput, 'hostNetwork' | 'agentMaxUnavailable'> {
  const inForce = policies.filter((p) => p.metadata.deletionTimestamp === undefined).sort(comparePolicies);
  const update = inForce.find((p) => p.spec.rollout?.maxUnavailable !== undefined);
  return {
    hostNetwork: base.hostNetwork || inForce.some((p) => p.spec.network?.enabled === true),
    agentMaxUnavailable: update?.spec.rollout?.maxUnavailable ?? base.agentMaxUnavailable,
  };
}

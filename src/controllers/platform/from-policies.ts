import type { ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import { comparePolicies } from '../../capture/index.ts';
import type { PlatformInput } from '../../render/index.ts';

/**
 * The policies' settings for the one DaemonSet of the agents. Pure.
 *
 * Flows are read from the host's own network devices, so capturing them anywhere puts the agents into the host's
 * network: one policy that asks for flows is enough. The strongest policy that sets it decides how many agents may be
 * replaced at a time, in the usual order of policies.
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

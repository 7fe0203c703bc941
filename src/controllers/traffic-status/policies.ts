import type { KubeObject } from '../../api/meta.ts';
import {
  clusterTrafficPolicies,
  clusterTrafficPolicyConditions,
  type ClusterTrafficPolicy,
} from '../../api/v1alpha1/index.ts';
import type { QueryOptions } from '../../render/index.ts';
import { keyOf, type ControllerEnvironment, type ControllerHandle } from '../../runtime/index.ts';
import type { CaptureHub } from '../capture/hub.ts';
import { PlatformTrouble } from '../platform/trouble.ts';
import { eventConditions, policyStatus } from './policy-status.ts';
import { queryLimitsCondition } from './query-limits.ts';
import { addStatusController } from './status-controller.ts';

/** How often a status is computed again although nothing changed. Units: ms. */
const recheckMs = 60_000;

/**
 * Writes the status of ClusterTrafficPolicies, as far as capture and queries are concerned. `query` holds the settings of
 * the query server. Other conditions of the same status belong to other field managers and are left alone.
 */
export function setupClusterTrafficPolicies(
  env: ControllerEnvironment,
  hub: CaptureHub,
  { trouble = new PlatformTrouble(), query = {} }: { trouble?: PlatformTrouble; query?: QueryOptions } = {},
): ControllerHandle {
  const policies = env.cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  const handle = addStatusController(env, hub, {
    name: 'cluster-traffic-policy',
    informer: policies,
    conditions: clusterTrafficPolicyConditions,
    eventConditions,
    recheckMs,
    outcome: (result, { name }) => result.policies.get(name),
    status: (object, outcome, nodes, now) =>
      policyStatus({
        object,
        outcome,
        nodes,
        queryLimits: queryLimitsCondition(object, policies.list(), query),
        trouble: trouble.current,
        now,
      }),
  });
  const triggerAll = (): void => {
    for (const policy of policies.list()) handle.trigger(keyOf(policy));
  };
  trouble.onChange(triggerAll);
  hub.onChange((change) => {
    if (change.compiled || change.nodes.size > 0) triggerAll();
  });
  return handle;
}

import type { KubeObject } from '../../api/meta.ts';
import {
  clusterTrafficPolicies,
  clusterTrafficPolicyConditions,
  type ClusterTrafficPolicy,
} from '../../api/v1alpha1/index.ts';
import {
  findCondition,
  generationChanged,
  keyOf,
  keyText,
  StatusWriter,
  type ControllerEnvironment,
  type ControllerHandle,
} from '../../runtime/index.ts';
import type { CaptureHub } from '../capture/hub.ts';
import { conditionEvents, PacedStatus, pendingStatus } from '../capture/paced-status.ts';
import type { QueryOptions } from '../../render/index.ts';
import { PlatformTrouble } from '../platform/trouble.ts';
import { queryLimitsCondition } from './query-limits.ts';
import { eventConditions, policyStatus } from './status.ts';

type PolicyObject = ClusterTrafficPolicy & KubeObject;

/** Units: ms. */
const recheckMs = 60_000;
const compileWaitMs = 1_000;

/**
 * Writes the status of ClusterTrafficPolicies, as far as capture and queries are concerned. `query` are the settings of
 * the query server. Other conditions of the same status belong to other field managers and are left alone.
 */
export function setupClusterTrafficPolicies(
  env: ControllerEnvironment,
  hub: CaptureHub,
  { trouble = new PlatformTrouble(), query = {} }: { trouble?: PlatformTrouble; query?: QueryOptions } = {},
): ControllerHandle {
  const policies = env.cache.informer<PolicyObject>({ resource: clusterTrafficPolicies });
  const fieldManager = 'svc-controller/cluster-traffic-policy';
  const paced = new PacedStatus<PolicyObject>({
    clock: env.clock,
    writer: new StatusWriter({ client: env.client, fieldManager, informer: policies }),
    announce: conditionEvents({
      events: env.events,
      eventConditions,
      good: (type) => clusterTrafficPolicyConditions[type as keyof typeof clusterTrafficPolicyConditions].good,
    }),
  });
  const handle = env.addController({
    name: 'cluster-traffic-policy',
    for: { source: policies.source, predicates: [generationChanged] },
    async reconcile({ key, signal, clock }) {
      const object = policies.get(key);
      if (!object || object.metadata.deletionTimestamp) {
        paced.forget(keyText(key));
        return undefined;
      }
      const outcome = hub.result?.policies.get(key.name);
      if (!outcome || outcome.generation !== object.metadata.generation || outcome.uid !== object.metadata.uid) {
        if (!findCondition(object.status?.conditions, 'Ready')) {
          const why = hub.compileError ?? 'the controller has not judged this object yet';
          await paced.writeFirst(object, pendingStatus(object, clock.now(), why), signal);
        }
        return { requeueAfterMs: compileWaitMs };
      }
      const nodes = outcome.nodes.flatMap((name) => hub.nodes.get(name) ?? []);
      const { waitMs } = await paced.write(
        object,
        policyStatus({
          object,
          outcome,
          nodes,
          queryLimits: queryLimitsCondition(object, policies.list(), query),
          trouble: trouble.current,
          now: clock.now(),
        }),
        signal,
      );
      return { requeueAfterMs: waitMs ?? recheckMs };
    },
  });
  trouble.onChange(() => {
    for (const policy of policies.list()) handle.trigger(keyOf(policy));
  });
  hub.onChange((change) => {
    if (!change.compiled && change.nodes.size === 0) return;
    for (const policy of policies.list()) handle.trigger(keyOf(policy));
  });
  return handle;
}

import type { ClusterTrafficPolicy, ClusterTrafficPolicyStatus } from '../../api/v1alpha1/index.ts';
import type { PolicyOutcome } from '../../capture/index.ts';
import { mergeConditions, summarizeReady, type ConditionInput } from '../../runtime/index.ts';
import type { NodeState } from '../capture/node-state.ts';
import { heldBack, limitsExceeded, type HeldBack } from '../capture/limits.ts';
import { sending } from './sending.ts';
import { acceptance, programmed, progressOf, type Programmed } from '../capture/programmed.ts';
import type { Refusal } from '../refusal.ts';

export interface PolicyStatusInput {
  object: ClusterTrafficPolicy;
  outcome: PolicyOutcome;
  /** The states of the nodes in scope. */
  nodes: readonly NodeState[];
  /** Whether queries are held to the policy's query limits; undefined when the policy sets none. */
  queryLimits?: ConditionInput | undefined;
  /** Why the objects of the agents or the query server cannot be applied; absent if all can. */
  trouble?: Refusal | undefined;
  /** Wall time, ms since the epoch. */
  now: number;
}

/** Everything that the status of a policy says about capture. Pure. */
export function policyStatus(input: PolicyStatusInput): ClusterTrafficPolicyStatus {
  const { object, outcome, nodes, now } = input;
  const generation = object.metadata.generation ?? 0;
  const previous = object.status;
  const rollout = programmed(object, nodes);
  const ready = nodes.filter((n) => n.ready && n.reachable && n.failure === null && n.running).length;
  const dropped = heldBack(nodes, () => true, now);
  const complete = outcome.accepted.ok && rollout.condition.status === 'True' && rollout.desired > 0;
  const lastKnownGoodHash = complete ? outcome.configHash : previous?.lastKnownGoodHash;
  const accepted = outcome.accepted.ok ? object.spec : previous?.lastAcceptedSpec;
  return {
    observedGeneration: generation,
    conditions: mergeConditions(previous?.conditions, conditionsOf(input, rollout, dropped), { generation, now }),
    nodes: {
      desired: rollout.desired,
      updated: outcome.accepted.ok ? rollout.updated : 0,
      ready,
      failed: rollout.failed,
      outdated: rollout.desired - (outcome.accepted.ok ? rollout.updated : 0),
    },
    ...(outcome.configHash ? { configHash: outcome.configHash } : {}),
    ...(lastKnownGoodHash ? { lastKnownGoodHash } : {}),
    ...(accepted ? { lastAcceptedSpec: accepted } : {}),
    monitors: outcome.monitors,
    failedNodes: rollout.failedNodes,
  };
}

function conditionsOf(
  { outcome, nodes, trouble, queryLimits }: PolicyStatusInput,
  rollout: Programmed,
  dropped: HeldBack,
): ConditionInput[] {
  const degraded = rollout.condition.reason === 'NodesFailed' || rollout.condition.reason === 'RolloutPaused';
  const silent = rollout.failedNodes.some((n) => n.reason === 'Unreachable');
  const more = rollout.unnamed > 0 ? ` and ${rollout.unnamed} more` : '';
  const conditions: ConditionInput[] = [
    ...acceptance(outcome, rollout),
    degraded || silent
      ? {
          type: 'Degraded',
          status: 'True',
          reason: degraded ? 'NodesFailed' : 'NodesUnreachable',
          message: rollout.failedNodes.map((n) => n.name).join(', ') + more,
        }
      : { type: 'Degraded', status: 'False', reason: 'AllNodesReady', message: '' },
    limitsExceeded(dropped),
    ...(queryLimits ? [queryLimits] : []),
    capturingFlows(outcome),
    ...(outcome.inForce?.export?.length ? [sending(`ClusterTrafficPolicy/${outcome.name}`, nodes)] : []),
  ];
  const ready = summarizeReady(conditions, ['Accepted', 'Programmed'], { reason: 'Ready', message: '' });
  return [readyDespite(trouble, ready), ...conditions, ...progressOf(outcome, rollout, trouble)];
}

function capturingFlows({ flows, inForce }: PolicyOutcome): ConditionInput {
  const message = {
    Enabled: '',
    PartlyEnabled: 'another policy decides spec.network.enabled on some of the nodes',
    NotEnabled: 'flows are off; spec.network.enabled: true turns them on and puts the agents into the host network',
    SwitchedOff: '',
    Paused: 'a policy that sets spec.network is paused',
    NoNodes: inForce?.nodeSelector ? 'spec.nodeSelector matches no node that runs an agent' : 'no node runs an agent',
    NotInForce: 'nothing of this policy is in force',
  }[flows];
  return { type: 'CapturingFlows', status: flows === 'Enabled' ? 'True' : 'False', reason: flows, message };
}

/** A policy is not Ready while objects of the agents or the query server cannot be applied. */
function readyDespite(trouble: Refusal | undefined, ready: ConditionInput): ConditionInput {
  if (!trouble || ready.status === 'False') return ready;
  const reason = trouble.reason === 'Invalid' ? 'ApplyFailed' : trouble.reason;
  return { type: 'Ready', status: 'False', reason, message: trouble.message };
}

/** Conditions whose change is worth an Event. */
export const eventConditions: readonly string[] = ['Accepted', 'Programmed', 'Degraded', 'LimitsExceeded', 'Exporting'];

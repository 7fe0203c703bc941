import type { KubeObject } from '../../api/meta.ts';
import type { ClusterTrafficPolicy } from '../../api/v1alpha1/index.ts';
import {
  mergeConditions,
  type ConditionInput,
  type Informer,
  type ReconcileContext,
  type StatusWriter,
} from '../../runtime/index.ts';
import type { CertificateState } from './certificates.ts';

export type PolicyObject = ClusterTrafficPolicy & KubeObject;

/**
 * The state of the certificates, in the terms of the policy's status. Pure.
 * @param waiting The agents that could not be given one, in a line; `''` for none.
 */
export function certificateCondition(states: readonly CertificateState[], waiting = ''): ConditionInput {
  const type = 'CertificateExpiring';
  const overdue = states.filter((state) => state.overdue);
  if (overdue.length === 0 && waiting !== '') {
    return { type, status: 'True', reason: 'AgentsWaiting', message: `agents got no certificate: ${waiting}` };
  }
  if (overdue.length === 0) return { type, status: 'False', reason: 'CertificatesValid', message: '' };
  const list = overdue.map(({ secret, expiresAt }) => `${secret} ends ${new Date(expiresAt).toISOString()}`).join(', ');
  return { type, status: 'True', reason: 'RenewalOverdue', message: `not renewed in time: ${list}` };
}

/**
 * Puts the platform's conditions on every policy: that is where a platform team looks. They belong to the platform's
 * own field manager, beside those of the policy's controller, and are written only when they change.
 */
export async function writePolicyConditions(
  policies: Informer<PolicyObject>,
  writer: StatusWriter<PolicyObject>,
  conditions: readonly ConditionInput[],
  { clock, signal }: Pick<ReconcileContext, 'clock' | 'signal'>,
): Promise<void> {
  for (const policy of policies.list()) {
    if (policy.metadata.deletionTimestamp) continue;
    const generation = policy.metadata.generation ?? 0;
    const merged = mergeConditions(policy.status?.conditions, conditions, { generation, now: clock.now() });
    await writer.write(policy, { conditions: merged }, { signal });
  }
}

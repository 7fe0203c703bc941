import { isConflict, isForbidden, isInvalid, isQuotaExceeded, isRefusedByAdmission } from '../kube/index.ts';
import { conflictText } from '../runtime/index.ts';
import { eachError, errorText, isOperatorError, joined } from '../base/errors.ts';

/** Why one of our objects could not be written or run, in the terms of the `Ready` and `Stalled` conditions. */
export interface Refusal {
  reason:
    | 'Forbidden'
    | 'QuotaExceeded'
    | 'AdmissionDenied'
    | 'Conflict'
    | 'Invalid'
    | 'MissingDependency'
    | 'ImagePullFailed'
    | 'ApplyFailed';
  message: string;
  /** True: only a change of an object helps. False: waiting helps. */
  stalled: boolean;
}

const stalled = (reason: Refusal['reason'], message: string): Refusal => ({ reason, message, stalled: true });

/**
 * What a failed write means. Of several failures, the first one that waiting cannot resolve gives the reason; the
 * message has all of them. Pure.
 * Quotas and webhooks are checked first, because they answer with the same status codes as missing permissions.
 */
export function refusalOf(error: unknown, object?: string): Refusal {
  if (error instanceof AggregateError) {
    const all = eachError(error).map((one) => refusalOf(one, object));
    const worst = all.find((refusal) => refusal.stalled) ?? all[0]!;
    return { ...worst, message: joined(all.map(({ message }) => message)) };
  }
  const text = conflictText(error);
  const message = object === undefined || text.includes(object) ? text : `${object}: ${text}`;
  if (isQuotaExceeded(error)) return stalled('QuotaExceeded', message);
  if (isRefusedByAdmission(error)) return stalled('AdmissionDenied', message);
  if (isForbidden(error)) return stalled('Forbidden', message);
  if (isOperatorError(error, 'ERR_APPLY_CONFLICT')) return stalled('Conflict', message);
  if (isInvalid(error) && !isConflict(error)) return stalled('Invalid', message);
  return { reason: 'ApplyFailed', message: message || errorText(error), stalled: false };
}

/** The reason why pods cannot be created, from the message of a Deployment's `ReplicaFailure`. Pure. */
export function podRefusal(message: string): Refusal {
  if (/\b(exceeded|failed) quota\b/.test(message)) return stalled('QuotaExceeded', message);
  if (/admission webhook "|failed calling webhook|AdmissionPolicy '|violates PodSecurity/.test(message)) {
    return stalled('AdmissionDenied', message);
  }
  if (/serviceaccounts? ".*" not found|serviceaccount .* not found/i.test(message)) {
    return stalled('MissingDependency', message);
  }
  if (/forbidden/i.test(message)) return stalled('Forbidden', message);
  return { reason: 'ApplyFailed', message, stalled: false };
}

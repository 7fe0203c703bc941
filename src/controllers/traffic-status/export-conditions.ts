import type { MonitorOutcome } from '../../capture/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import type { NodeState } from '../capture/node-state.ts';
import type { SecretAbsence } from '../capture/export-secrets.ts';
import { notExporting, sending } from '../capture/sending.ts';
import { grantSecret } from '../grants.ts';

/**
 * `ResolvedRefs`: whether the Secrets that the exports refer to exist and may be read. The operator has no permission
 * to read Secrets in the namespaces of monitors; the message says how to grant it.
 */
export function resolvedRefs(
  outcome: MonitorOutcome,
  absence: (ref: string) => SecretAbsence | undefined,
  operatorNamespace: string,
): ConditionInput {
  const type = 'ResolvedRefs';
  const absent = outcome.exports.flatMap(({ name, secret = '' }) => {
    const why = secret === '' ? undefined : absence(secret);
    const [namespace = '', secretName = '', key] = secret.split('/');
    if (why === 'missing') return [`export ${name}: Secret ${secretName} or its key ${key} does not exist`];
    if (why === undefined) return [];
    const grant = grantSecret(namespace, secretName, operatorNamespace);
    return [`export ${name}: the operator may not read Secret ${secretName}; grant it: ${grant}`];
  });
  if (absent.length === 0) return { type, status: 'True', reason: 'ResolvedRefs', message: '' };
  const missing = outcome.exports.some(({ secret }) => secret !== undefined && absence(secret) === 'missing');
  const reason = missing ? 'SecretNotFound' : 'SecretForbidden';
  return { type, status: 'False', reason, message: absent.join('; ').slice(0, 1_024) };
}

/**
 * `Exporting`, absent without `export`. A destination that is in no allow list is reported first: no node sends to it.
 * Then come the agents' reports.
 */
export function exporting(outcome: MonitorOutcome, nodes: readonly NodeState[]): ConditionInput[] {
  if (outcome.exports.length === 0 || outcome.suspended) return [];
  const refused = outcome.exports.filter((e) => !e.allowed);
  if (refused.length === 0) return [sending(`TrafficMonitor/${outcome.namespace}/${outcome.name}`, nodes)];
  const named = refused.map((e) => `export ${e.name}: no policy allows the host ${e.host || '(none)'}`);
  return [notExporting('DestinationNotAllowed', named.join('; '))];
}

import type { MonitorOutcome } from '../../capture/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import type { NodeState } from '../capture/node-state.ts';
import { notExporting, sending } from '../capture/sending.ts';

/** `ResolvedRefs`: whether the Secrets that the exports refer to exist. */
export function resolvedRefs(outcome: MonitorOutcome, isMissing: (ref: string) => boolean): ConditionInput {
  const missing = outcome.exports.filter((e) => e.secret !== undefined && isMissing(e.secret));
  if (missing.length === 0) return { type: 'ResolvedRefs', status: 'True', reason: 'ResolvedRefs', message: '' };
  const named = missing.map(({ name, secret = '' }) => {
    const [, secretName, key] = secret.split('/');
    return `export ${name}: Secret ${secretName} or its key ${key} does not exist`;
  });
  return { type: 'ResolvedRefs', status: 'False', reason: 'SecretNotFound', message: named.join('; ').slice(0, 1_024) };
}

/**
 * `Exporting`, absent without `export`. A destination that no allow list has comes first: nothing is sent to it
 * anywhere. Then what the agents say.
 */
export function exporting(outcome: MonitorOutcome, nodes: readonly NodeState[]): ConditionInput[] {
  if (outcome.exports.length === 0 || outcome.suspended) return [];
  const refused = outcome.exports.filter((e) => !e.allowed);
  if (refused.length === 0) return [sending(`TrafficMonitor/${outcome.namespace}/${outcome.name}`, nodes)];
  const named = refused.map((e) => `export ${e.name}: no policy allows the host ${e.host || '(none)'}`);
  return [notExporting('DestinationNotAllowed', named.join('; '))];
}

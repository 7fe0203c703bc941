import type { MonitorOutcome } from '../../capture/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import type { NodeState } from '../capture/node-state.ts';

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
 * anywhere. Then what the agents say: one node that cannot send is enough.
 */
export function exporting(outcome: MonitorOutcome, nodes: readonly NodeState[]): ConditionInput[] {
  if (outcome.exports.length === 0 || outcome.suspended) return [];
  const not = (reason: string, message: string): ConditionInput[] => [
    { type: 'Exporting', status: 'False', reason, message: message.slice(0, 1_024) },
  ];
  const refused = outcome.exports.filter((e) => !e.allowed);
  if (refused.length > 0) {
    const named = refused.map((e) => `export ${e.name}: no policy allows the host ${e.host || '(none)'}`);
    return not('DestinationNotAllowed', named.join('; '));
  }
  const owner = `TrafficMonitor/${outcome.namespace}/${outcome.name}`;
  const rows = nodes.flatMap((node) =>
    (node.status?.exports ?? []).filter((row) => row.owner === owner).map((row) => ({ ...row, node: node.name })),
  );
  const first = rows.find((row) => row.state === 'NotAllowed') ?? rows.find((row) => row.state !== 'Sending');
  if (first) {
    const others = new Set(rows.filter((row) => row.state !== 'Sending').map((row) => row.node)).size - 1;
    const more = others > 0 ? ` (and ${others} more nodes)` : '';
    const words = `export ${first.name}: ${first.node}${more}: ${first.message ?? 'does not send'}`;
    return not(first.state === 'NotAllowed' ? 'DestinationNotAllowed' : 'SendFailing', words);
  }
  return [{ type: 'Exporting', status: 'True', reason: 'Exporting', message: '' }];
}

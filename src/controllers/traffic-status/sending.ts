import { cutToUnits } from '../../base/text/texts.ts';
import type { ConditionInput } from '../../runtime/index.ts';
import type { NodeState } from '../capture/node-state.ts';

/** The condition `Exporting` with the status False. */
export function notExporting(reason: 'DestinationNotAllowed' | 'SendFailing', message: string): ConditionInput {
  return { type: 'Exporting', status: 'False', reason, message: cutToUnits(message, 1_024) };
}

/**
 * The condition `Exporting`, from the reports of these nodes' agents on an owner's destinations: one node that cannot
 * send makes it False.
 * `owner` is `TrafficMonitor/<namespace>/<name>` or `ClusterTrafficPolicy/<name>`.
 */
export function sending(owner: string, nodes: readonly NodeState[]): ConditionInput {
  const rows = nodes.flatMap((node) =>
    (node.status?.exports ?? []).filter((row) => row.owner === owner).map((row) => ({ ...row, node: node.name })),
  );
  const first = rows.find((row) => row.state === 'NotAllowed') ?? rows.find((row) => row.state !== 'Sending');
  if (!first) return { type: 'Exporting', status: 'True', reason: 'Exporting', message: '' };
  const others = new Set(rows.filter((row) => row.state !== 'Sending').map((row) => row.node)).size - 1;
  const more = others > 0 ? ` (and ${others} more nodes)` : '';
  const words = `export ${first.name}: ${first.node}${more}: ${first.message ?? 'does not send'}`;
  return notExporting(first.state === 'NotAllowed' ? 'DestinationNotAllowed' : 'SendFailing', words);
}

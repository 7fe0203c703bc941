import { lossReason, type StreamMessage } from '../../../stream/index.ts';
import { printable } from '../output/table.ts';

/** What a message that is no item says to a person, and whether that is a warning; undefined for an item. Pure. */
export function noteOf({
  node,
  lost,
  node_status: status,
}: StreamMessage): { readonly text: string; readonly isWarning: boolean } | undefined {
  if (lost) {
    const items = lost.count === 1 ? '1 item' : `${lost.count} items`;
    const where = lost.source === 'relay' ? '' : ` of node ${printable(node)}`;
    return { text: `lost ${items}${where}: ${printable(lossReason(lost.source))}`, isWarning: true };
  }
  if (!status) return undefined;
  const nodes =
    status.nodes.length === 1 ? `node ${status.nodes[0]}` : `${status.nodes.length} nodes (${status.nodes.join(', ')})`;
  const who = printable(status.nodes.length === 0 ? node : nodes);
  if (status.state === 'NODE_CONNECTED') return { text: `connected to ${who}`, isWarning: false };
  const what = status.state === 'NODE_UNAVAILABLE' ? 'unavailable' : 'failing';
  return { text: `${who}: ${what}${status.message ? `: ${printable(status.message)}` : ''}`, isWarning: true };
}

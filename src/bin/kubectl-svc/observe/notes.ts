import type { StreamMessage } from '../../../stream/index.ts';
import { printable } from '../output/table.ts';

/** Why items were lost, by the source that the stream names. */
const reasons: Readonly<Record<string, string>> = {
  ring: "had left the node's memory before they were asked for",
  reader: 'came faster than the query server read them',
  relay: 'came faster than they were read here',
  labels: "cannot be judged on that node, for it does not know the labels of another node's pod",
};

/** What a message that is no item says to a person, and whether that is a warning; undefined for an item. Pure. */
export function noteOf({
  node,
  lost,
  node_status: status,
}: StreamMessage): { readonly text: string; readonly isWarning: boolean } | undefined {
  if (lost) {
    const items = lost.count === 1 ? '1 item' : `${lost.count} items`;
    const where = lost.source === 'relay' ? '' : ` of node ${printable(node)}`;
    return { text: `lost ${items}${where}: ${reasons[lost.source] ?? printable(lost.source)}`, isWarning: true };
  }
  if (!status) return undefined;
  const nodes =
    status.nodes.length === 1 ? `node ${status.nodes[0]}` : `${status.nodes.length} nodes (${status.nodes.join(', ')})`;
  const who = printable(status.nodes.length === 0 ? node : nodes);
  if (status.state === 'NODE_CONNECTED') return { text: `connected to ${who}`, isWarning: false };
  const what = status.state === 'NODE_UNAVAILABLE' ? 'unavailable' : 'failing';
  return { text: `${who}: ${what}${status.message ? `: ${printable(status.message)}` : ''}`, isWarning: true };
}

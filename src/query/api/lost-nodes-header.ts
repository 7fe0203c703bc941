import type { ServerResponse } from 'node:http';

/** The header that names the missing nodes in all formats except JSON, whose member `missingNodes` names them. */
export const missingNodesHeader = 'x-svc-missing-nodes';

/** Names the nodes that an answer lacks, and forbids caching it. Node names are DNS names: safe in a header. */
export function lostNodesHeader(res: ServerResponse, missingNodes: readonly string[]): void {
  if (missingNodes.length === 0) return;
  res.setHeader(missingNodesHeader, missingNodes.join(','));
  res.setHeader('cache-control', 'no-store');
}

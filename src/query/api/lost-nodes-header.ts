import type { ServerResponse } from 'node:http';

/** Replaces the member `missingNodes` of JSON answers in formats that have no such member. */
export const missingNodesHeader = 'x-svc-missing-nodes';

/** Names the nodes that an answer lacks, and forbids caching it. Node names are DNS names: safe in a header. */
export function lostNodesHeader(res: ServerResponse, missingNodes: readonly string[]): void {
  if (missingNodes.length === 0) return;
  res.setHeader(missingNodesHeader, missingNodes.join(','));
  res.setHeader('cache-control', 'no-store');
}

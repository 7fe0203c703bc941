import type { ServerResponse } from 'node:http';

/** What stands in for the envelope where a format has none. */
export const missingNodesHeader = 'x-svc-missing-nodes';

/** Names the nodes an answer lacks, and forbids to cache it. Node names are DNS names: safe in a header. */
export function lostNodesHeader(res: ServerResponse, missingNodes: readonly string[]): void {
  if (missingNodes.length === 0) return;
  res.setHeader(missingNodesHeader, missingNodes.join(','));
  res.setHeader('cache-control', 'no-store');
}

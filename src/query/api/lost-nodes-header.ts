import type { ServerResponse } from 'node:http';

/** Replaces the envelope's `missingNodes` in formats without an envelope. */
export const missingNodesHeader = 'x-svc-missing-nodes';

/** Names the nodes that an answer lacks, and forbids caching it. Node names are DNS names: safe in a header. */
export function lostNodesHeader(res: ServerResponse, missingNodes: readonly string[]): void {
  if (missingNodes.length === 0) return;
  res.setHeader(missingNodesHeader, missingNodes.join(','));
  res.setHeader('cache-control', 'no-store');
}

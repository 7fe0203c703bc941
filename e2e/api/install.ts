import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';

export const repository = join(import.meta.dirname, '../..');

/** Applies the CRDs as a person does, and waits until the server serves them. */
export async function installCrds(cluster: Pick<Cluster, 'kubectl'>): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'crds')]);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', join(repository, 'crds')]);
}

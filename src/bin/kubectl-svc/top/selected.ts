import { coreResources } from '../../../kube/core-resources.ts';
import { listAll } from '../../../kube/reads.ts';
import type { Session } from '../session.ts';
import type { TopKind } from './kinds.ts';

/** Names of the objects that a label selector picks: pods of the namespace, or nodes, or namespaces. */
export async function selectedNames(
  session: Session,
  { selected }: TopKind,
  namespace: string | undefined,
  labelSelector: string,
): Promise<string[]> {
  const { items } = await listAll(await session.kube(), coreResources[selected.kind], {
    labelSelector,
    ...(selected.kind === 'pods' && namespace !== undefined ? { namespace } : {}),
    metadataOnly: true,
    signal: session.signal,
  });
  return items.map(({ metadata }) => metadata.name ?? '');
}

import type { KubeObject, OwnerReference } from '../../api/meta.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import type { ReconcileContext } from '../../runtime/index.ts';
import { names } from '../../render/index.ts';

/**
 * The object that stands for the operator's installation: its ClusterRole, which every way of installing makes and every
 * way of removing takes away. Not the namespace: that cannot end while an API registration leads into it, which would
 * then wait for the namespace in turn.
 */
export async function installationOwner({ client, signal }: ReconcileContext): Promise<OwnerReference | undefined> {
  const { clusterRoles } = coreResources;
  const found = await getIfExists(client, clusterRoles, { name: names.controller }, { signal, metadataOnly: true });
  if (!found?.metadata.uid || found.metadata.deletionTimestamp) return undefined;
  const { apiVersion, kind } = clusterRoles;
  return { apiVersion, kind, name: names.controller, uid: found.metadata.uid };
}

/** What lies outside the operator's namespace does not go with it: the garbage collector takes it with the owner. */
export function ownedFromOutside(child: KubeObject, namespace: string, owner: OwnerReference | undefined): KubeObject {
  if (!owner || child.metadata.namespace === namespace) return child;
  return { ...child, metadata: { ...child.metadata, ownerReferences: [owner] } };
}

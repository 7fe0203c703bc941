import type { KubeObject, OwnerReference } from '../../api/meta.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import type { ReconcileContext } from '../../runtime/index.ts';
import { names } from '../../render/index.ts';

/**
 * The object that represents the operator's installation: its ClusterRole, which every way of installing creates and
 * every way of uninstalling removes. Not the namespace: it cannot be deleted while an API registration points into it,
 * and the registration would in turn wait for the namespace.
 */
export async function installationOwner({ client, signal }: ReconcileContext): Promise<OwnerReference | undefined> {
  const { clusterRoles } = coreResources;
  const found = await getIfExists(client, clusterRoles, { name: names.controller }, { signal, metadataOnly: true });
  if (!found?.metadata.uid || found.metadata.deletionTimestamp) return undefined;
  const { apiVersion, kind } = clusterRoles;
  return { apiVersion, kind, name: names.controller, uid: found.metadata.uid };
}

/**
 * Objects outside the operator's namespace are not removed with it: the garbage collector removes them with the owner.
 */
export function ownedFromOutside(child: KubeObject, namespace: string, owner: OwnerReference | undefined): KubeObject {
  if (!owner || child.metadata.namespace === namespace) return child;
  return { ...child, metadata: { ...child.metadata, ownerReferences: [owner] } };
}

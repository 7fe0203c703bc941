import type { KubeObject, OwnerReference } from '../api/meta.ts';
import { coreResources, getIfExists } from '../kube/index.ts';
import { names } from '../render/index.ts';
import type { ReconcileContext } from '../runtime/index.ts';

/**
 * The object that represents the operator's installation: its ClusterRole, which every way of installing creates and
 * every way of uninstalling removes. The namespace cannot be the owner: it is not deleted while an API registration
 * points into it, and the registration would in turn wait for the namespace.
 * Shape: `going` while it is being deleted, when nothing is to be made that it would have to own; undefined while it does
 * not exist. Errors: those of the request.
 */
export async function installationOwner({
  client,
  signal,
}: Pick<ReconcileContext, 'client' | 'signal'>): Promise<OwnerReference | 'going' | undefined> {
  const { clusterRoles } = coreResources;
  const found = await getIfExists(client, clusterRoles, { name: names.controller }, { signal, metadataOnly: true });
  if (!found?.metadata.uid) return undefined;
  if (found.metadata.deletionTimestamp) return 'going';
  const { apiVersion, kind } = clusterRoles;
  return { apiVersion, kind, name: names.controller, uid: found.metadata.uid };
}

/**
 * Gives an owner to an object outside the operator's namespace: it outlives the namespace, and the garbage collector
 * removes it with its owner. Pure.
 */
export function ownedFromOutside(child: KubeObject, namespace: string, owner: OwnerReference | undefined): KubeObject {
  if (!owner || child.metadata.namespace === namespace) return child;
  return { ...child, metadata: { ...child.metadata, ownerReferences: [owner] } };
}

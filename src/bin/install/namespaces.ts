import type { KubeObject, OwnerReference, ResourceRef } from '../../api/meta.ts';
import { failureConfigMap } from '../../controllers/capture/failures/failure-memory.ts';
import { coreResources, isNotFound, listAll, namespacedResources, type KubeClient } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
import { keyOf, keyText } from '../../runtime/index.ts';

/** Objects in the operator's namespace that lack our labels, by resource and name. */
export const unlabelled: readonly (readonly [ResourceRef, string])[] = [
  [coreResources.secrets, names.ca],
  [coreResources.leases, names.controller],
  [coreResources.configMaps, failureConfigMap],
];

/** What Kubernetes, OpenShift and Istio make in each namespace. */
const ofPlatforms: readonly (readonly [ResourceRef, string])[] = [
  [coreResources.serviceAccounts, 'default'],
  [coreResources.configMaps, 'kube-root-ca.crt'],
  [coreResources.configMaps, 'openshift-service-ca.crt'],
  [coreResources.configMaps, 'istio-ca-root-cert'],
  [coreResources.serviceAccounts, 'builder'],
  [coreResources.serviceAccounts, 'deployer'],
  [coreResources.roleBindings, 'system:image-pullers'],
  [coreResources.roleBindings, 'system:image-builders'],
  [coreResources.roleBindings, 'system:deployers'],
];

/** Whether an installation made the object. `svc install` never gives our label to a namespace that exists. Pure. */
export const isOurs = ({ metadata }: KubeObject): boolean =>
  metadata.labels?.['app.kubernetes.io/name'] === 'svc-operator';

/**
 * The objects in a namespace, of any kind that the server knows, that neither an installation nor a platform made.
 * Objects of `going` do not count, nor events, nor the records of the Helm release that made the namespace, nor what goes
 * with the last of its owners when none of these counts or is outside the namespace: reports about our pods, Secrets of
 * the platform's service accounts.
 * Shape: `kind/namespace/name`, the kind in lower case.
 * Errors: those of the API server, also when an aggregated API does not answer: then it could delete no namespace.
 */
export async function foreignObjects(
  { metadata }: KubeObject,
  going: readonly ResourceRef[],
  { client, signal }: { client: KubeClient; signal: AbortSignal },
): Promise<string[]> {
  const release = metadata.annotations?.['meta.helm.sh/release-name'];
  const known = new Set([...unlabelled, ...ofPlatforms].map(([{ kind }, name]) => `${kind} ${name}`));
  const foreign = new Map<string, { title: string; owners: readonly OwnerReference[] }>();
  const namespaced = new Set<string>();
  for (const resource of await namespacedResources(client, { signal })) {
    namespaced.add(`${resource.group} ${resource.kind}`);
    const goes = going.some(({ group, plural }) => group === resource.group && plural === resource.plural);
    if (goes || resource.plural === coreResources.events.plural) continue;
    const options = { namespace: metadata.name, metadataOnly: true, signal };
    // A kind may go between its discovery and its list.
    const { items } = await listAll(client, resource, options).catch((error: unknown) => {
      if (isNotFound(error)) return { items: [] };
      throw error;
    });
    for (const object of items) {
      const { uid, name = '', ownerReferences: owners = [] } = object.metadata;
      // An object without a uid is not stored, but computed, as the metrics of a pod are.
      if (uid === undefined || isOurs(object) || known.has(`${resource.kind} ${name}`)) continue;
      if (release !== undefined && name.startsWith(`sh.helm.release.v1.${release}.v`)) continue;
      foreign.set(uid, { title: `${resource.kind.toLowerCase()}/${keyText(keyOf(object))}`, owners });
    }
  }
  // An owner that is not among these is ours, of a platform, of `going`, or gone already.
  const isGoing = ({ apiVersion, kind, uid }: OwnerReference): boolean =>
    !foreign.has(uid) && namespaced.has(`${apiVersion.split('/').slice(0, -1).join('/')} ${kind}`);
  for (let before = 0; before !== foreign.size;) {
    before = foreign.size;
    for (const [uid, { owners }] of foreign) if (owners.length > 0 && owners.every(isGoing)) foreign.delete(uid);
  }
  return [...foreign.values()].map(({ title }) => title);
}

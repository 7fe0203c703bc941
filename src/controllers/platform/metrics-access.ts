import type { KubeObject } from '../../api/meta.ts';
import { getIfExists, type JsonPatchOperation } from '../../kube/index.ts';
import { names, objectLabels } from '../../render/index.ts';
import { keyOf, type Informer, type ReconcileContext } from '../../runtime/index.ts';

const isAccess = ({ metadata }: KubeObject): boolean => metadata.name === names.customMetricsAccess;

/**
 * False for the autoscalers' role and binding where `manager` is not their only writer: other adapters use the same name.
 * True for all other objects. Pure.
 */
export function mayPruneAccess(object: KubeObject, manager: string): boolean {
  return !isAccess(object) || isWrittenOnlyBy(object, manager);
}

/**
 * The objects without the autoscalers' role and binding that another adapter made: its role may have rules for other
 * APIs. Kubernetes' own autoscaler has the rights in any case. A binding is left out with its role.
 * @param children Caches that show what has our labels.
 * Errors: those of the requests. Nothing is asked for what a cache shows.
 */
export async function withoutForeignAccess(
  objects: readonly KubeObject[],
  children: readonly Informer[],
  manager: string,
  { client, signal }: Pick<ReconcileContext, 'client' | 'signal'>,
): Promise<KubeObject[]> {
  const foreign = new Set<string>();
  for (const object of objects.filter(isAccess)) {
    const informer = informerOf(children, object);
    const key = keyOf(object);
    const found =
      informer.get(key) ?? (await getIfExists(client, informer.source.resource, key, { signal, metadataOnly: true }));
    if (found && !isWrittenOnlyBy(found, manager)) foreign.add(object.kind);
  }
  return objects.filter((object) => !isAccess(object) || !(foreign.has('ClusterRole') || foreign.has(object.kind)));
}

/**
 * Gives up the autoscalers' role and binding that another adapter wrote too: our labels, the ownership of our installation
 * and our field manager's record go, and the rest stays. Otherwise the end of the installation would delete them.
 * Errors: those of the requests; a write in between is one.
 */
export async function releaseSharedAccess(
  children: readonly Informer[],
  manager: string,
  { client, signal }: Pick<ReconcileContext, 'client' | 'signal'>,
): Promise<void> {
  const key = { name: names.customMetricsAccess };
  for (const informer of children) {
    const cached = informer.get(key);
    if (!cached || isWrittenOnlyBy(cached, manager)) continue;
    const { resource } = informer.source;
    // The cache may still show what has been given up.
    const found = await getIfExists<KubeObject>(client, resource, key, { signal, metadataOnly: true });
    if (!found?.metadata.managedFields?.some((entry) => entry.manager === manager)) continue;
    const operations = withoutUs(found, manager);
    await client.patch(resource, key, { type: 'json', operations }, { fieldManager: manager, signal });
  }
}

function withoutUs({ metadata }: KubeObject, manager: string): JsonPatchOperation[] {
  const ours = objectLabels('query');
  const labels = Object.entries(metadata.labels ?? {}).filter(([label, value]) => ours[label] !== value);
  const owners = metadata.ownerReferences?.filter(
    ({ kind, name }) => kind !== 'ClusterRole' || name !== names.controller,
  );
  const replaced = {
    labels: Object.fromEntries(labels),
    ownerReferences: owners ?? [],
    managedFields: metadata.managedFields?.filter((entry) => entry.manager !== manager),
  };
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
    ...Object.entries(replaced).map(([name, value]) => ({ op: 'add' as const, path: `/metadata/${name}`, value })),
  ];
}

function informerOf(children: readonly Informer[], { kind }: KubeObject): Informer {
  return children.find(({ source }) => source.resource.kind === kind)!;
}

const isWrittenOnlyBy = ({ metadata }: KubeObject, manager: string): boolean =>
  metadata.managedFields?.every((entry) => entry.manager === manager) ?? false;

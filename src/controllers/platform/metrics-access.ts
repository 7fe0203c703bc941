import type { KubeObject } from '../../api/meta.ts';
import { getIfExists } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
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
 * @param children Caches that show what has our labels, which is ours.
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
    if (informer.get(key)) continue;
    const found = await getIfExists(client, informer.source.resource, key, { signal, metadataOnly: true });
    if (found && !isWrittenOnlyBy(found, manager)) foreign.add(object.kind);
  }
  return objects.filter((object) => !isAccess(object) || !(foreign.has('ClusterRole') || foreign.has(object.kind)));
}

function informerOf(children: readonly Informer[], { kind }: KubeObject): Informer {
  return children.find(({ source }) => source.resource.kind === kind)!;
}

const isWrittenOnlyBy = ({ metadata }: KubeObject, manager: string): boolean =>
  metadata.managedFields?.every((entry) => entry.manager === manager) ?? false;

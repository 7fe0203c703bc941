import type { KubeObject } from '../../api/meta.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources, getIfExists, listAll, type KubeClient } from '../../kube/index.ts';
import { names } from '../../render/index.ts';

interface Deps {
  client: KubeClient;
  signal: AbortSignal;
}

/**
 * Refuses to go on when the operator is installed in another namespace. A cluster has one: what is outside the namespace
 * has the same names in every installation, so that a second one takes these objects from the first.
 *
 * The operator's ClusterRoleBinding says where that is, unless its namespace is gone; without one, the workloads do. When
 * neither is there, nothing is refused: a removal can be repeated.
 * Errors: ERR_CONFIG_INVALID that names the other namespace; those of the API server.
 */
export async function refuseOtherInstallation(namespace: string, deps: Deps): Promise<void> {
  const bound = await boundNamespaces(deps);
  const found = bound.length > 0 ? bound : await workloadNamespaces(deps);
  if (found.length === 0 || found.includes(namespace)) return;
  throw new OperatorError(
    'ERR_CONFIG_INVALID',
    `the operator is installed in namespace ${found[0]}; use --namespace=${found[0]}`,
  );
}

async function boundNamespaces({ client, signal }: Deps): Promise<string[]> {
  const { clusterRoleBindings, namespaces } = coreResources;
  const binding = await getIfExists<KubeObject>(client, clusterRoleBindings, { name: names.controller }, { signal });
  const subjects = (binding?.['subjects'] ?? []) as { kind: string; name: string; namespace?: string }[];
  const found: string[] = [];
  for (const { kind, name, namespace } of subjects) {
    if (kind !== 'ServiceAccount' || name !== names.controller || namespace === undefined) continue;
    if (await getIfExists(client, namespaces, { name: namespace }, { signal })) found.push(namespace);
  }
  return found;
}

/** The workloads of an installation; minters and removals of data are none of them. */
const labelSelector = 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/component in (controller,agent,query)';

async function workloadNamespaces({ client, signal }: Deps): Promise<string[]> {
  const found: string[] = [];
  for (const resource of [coreResources.deployments, coreResources.daemonSets]) {
    const { items } = await listAll(client, resource, { labelSelector, metadataOnly: true, signal });
    found.push(...items.map(({ metadata }) => metadata.namespace!));
  }
  return found;
}

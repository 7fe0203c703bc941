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
 * Errors: ERR_CONFIG_INVALID that names the other namespace, and what to do when an earlier version installed in both;
 * those of the API server.
 */
export async function refuseOtherInstallation(namespace: string, deps: Deps): Promise<void> {
  const bound = await boundNamespaces(deps);
  if (bound.includes(namespace)) return;
  const working = await workloadNamespaces(deps);
  const other = bound[0] ?? working[0];
  if (other === undefined || (bound.length === 0 && working.includes(namespace))) return;
  const advice = working.includes(namespace)
    ? `the operator is installed in namespaces ${namespace} and ${other}, and the one in ${other} has the rights; ` +
      `to keep that one alone, run \`kubectl -n ${namespace} delete deployments,daemonsets -l '${labelSelector}'\`; ` +
      `otherwise remove that one first (\`svc uninstall --namespace=${other} --keep-crds\`), then repeat this command`
    : `the operator is installed in namespace ${other}; use --namespace=${other}`;
  throw new OperatorError('ERR_CONFIG_INVALID', advice);
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

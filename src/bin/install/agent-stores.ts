import type { KubeObject } from '../../api/meta.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import { names, requiredNodes, type AgentStores } from '../../render/index.ts';
import type { InstallerDeps } from './installer.ts';

type PullPolicy = NonNullable<AgentStores['imagePullPolicy']>;

interface PodSpec {
  imagePullSecrets?: { name: string }[];
  containers?: { name: string; image: string; imagePullPolicy?: PullPolicy; args?: string[] }[];
  volumes?: { name: string; hostPath?: { path: string } }[];
}

/** The workloads that know the stores, and the container that has our image; the first that exists counts. */
const witnesses = [
  [coreResources.daemonSets, names.agent, 'agent'],
  [coreResources.deployments, names.controller, 'controller'],
  // Left by a removal of data that was interrupted, perhaps that of an earlier installation.
  [coreResources.daemonSets, names.dataRemoval, 'done'],
] as const;

/**
 * Where the agents of an installation keep their data: the installation may have set its own image and folder.
 * Shape: `agentDataHostPath` is empty when they keep none on the nodes. Undefined when nothing is left that knows.
 * Errors: those of the API server.
 */
export async function findAgentStores(
  namespace: string,
  { client, signal }: Pick<InstallerDeps, 'client' | 'signal'>,
): Promise<AgentStores | undefined> {
  for (const [resource, name, container] of witnesses) {
    const found = await getIfExists<KubeObject>(client, resource, { namespace, name }, { signal });
    const stores = found && storesOf(found, container);
    if (!stores) continue;
    // The operator's own affinity says nothing of the agents' nodes.
    const nodes = resource === coreResources.daemonSets ? requiredNodes(found) : undefined;
    return { namespace, ...stores, ...(nodes ? { requiredNodes: nodes } : {}) };
  }
  return undefined;
}

const podOf = (workload: KubeObject): PodSpec =>
  (workload['spec'] as { template?: { spec?: PodSpec } } | undefined)?.template?.spec ?? {};

const folderFlag = '--agent-data-host-path=';

function storesOf(workload: KubeObject, name: string): Omit<AgentStores, 'namespace'> | undefined {
  const pod = podOf(workload);
  const container = pod.containers?.find((c) => c.name === name);
  if (!container) return undefined;
  const { image, imagePullPolicy, args = [] } = container;
  const flag = args.find((arg) => arg.startsWith(folderFlag))?.slice(folderFlag.length);
  const volume = pod.volumes?.find((v) => v.name === 'data')?.hostPath?.path;
  return {
    svcImage: image,
    agentDataHostPath: volume ?? flag ?? '',
    ...(imagePullPolicy ? { imagePullPolicy } : {}),
    imagePullSecrets: (pod.imagePullSecrets ?? []).map((secret) => secret.name),
  };
}

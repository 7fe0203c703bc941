import type { KubeObject } from '../api/meta.ts';
import { everyNode } from './agent/nodes.ts';
import { volumes } from './agent/volumes.ts';
import type { PlatformInput } from './input.ts';
import { names, selectorLabels } from './names.ts';
import { objectOf } from './objects.ts';
import { podMetadata, pullSecrets, restrictedContainer } from './pod-security.ts';

/** Where agents keep their data on the nodes, and what it takes to run a pod there. */
export type AgentStores = Pick<
  PlatformInput,
  'namespace' | 'svcImage' | 'imagePullPolicy' | 'imagePullSecrets' | 'agentDataHostPath'
> & {
  /** The required node affinity of the agents, if they have one: a pod on another node might never be ready. */
  requiredNodes?: unknown;
};

/** A label that no node has: a removal that selects it has no pods. */
const waitingLabel = 'svc.dev/data-removal';

/**
 * A DaemonSet that empties the agents' folder on every node where agents may run, and then waits to be deleted: its pods are ready once the
 * data of their node is gone. Undefined when agents keep no data on nodes.
 *
 * `waiting`: it has no pods yet, and only records what the removal needs while agents still run.
 */
export function renderDataRemoval(input: AgentStores, state: 'waiting' | 'running'): KubeObject | undefined {
  if (input.agentDataHostPath === '') return undefined;
  const labels = { ...selectorLabels('agent'), 'app.kubernetes.io/component': names.dataRemoval };
  const { requiredNodes } = input;
  const args = ['agent', 'remove-data', `--data-dir=${volumes.data.path}`];
  const container = {
    image: input.svcImage,
    ...(input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy }),
    // As those of the agents' own init container: a ResourceQuota refuses pods that lack what it counts.
    resources: { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '256Mi' } },
    // The files belong to the agent; root without these two rights could not remove them.
    securityContext: {
      ...restrictedContainer,
      capabilities: { add: ['DAC_OVERRIDE', 'FOWNER'], drop: ['ALL'] },
      runAsNonRoot: false,
      runAsUser: 0,
      runAsGroup: 0,
    },
    volumeMounts: [{ name: volumes.data.name, mountPath: volumes.data.path }],
  };
  const object = objectOf(
    'DaemonSet',
    { component: 'agent', name: names.dataRemoval, namespace: input.namespace },
    {
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: podMetadata(labels),
          spec: {
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            ...pullSecrets(input.imagePullSecrets),
            ...everyNode,
            ...(requiredNodes ? { affinity: onNodes(requiredNodes) } : {}),
            ...(state === 'waiting' ? { nodeSelector: { ...everyNode.nodeSelector, [waitingLabel]: 'waiting' } } : {}),
            terminationGracePeriodSeconds: 5,
            initContainers: [{ name: 'remove', args, ...container }],
            containers: [{ name: 'done', args: [...args, '--stay=true'], ...container }],
            volumes: [
              { name: volumes.data.name, hostPath: { path: input.agentDataHostPath, type: 'DirectoryOrCreate' } },
            ],
          },
        },
      },
    },
  );
  object.metadata.labels = { ...object.metadata.labels, ...labels };
  return object;
}

const onNodes = (required: unknown): object => ({
  nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required },
});

/** Whether a removal is `waiting`. Pure. */
export function isWaitingRemoval(removal: KubeObject): boolean {
  const spec = removal['spec'] as { template?: { spec?: { nodeSelector?: Record<string, string> } } } | undefined;
  return spec?.template?.spec?.nodeSelector?.[waitingLabel] !== undefined;
}

import type { KubeObject } from '../api/meta.ts';
import { volumes } from './agent/volumes.ts';
import type { PlatformInput } from './input.ts';
import { names, selectorLabels } from './names.ts';
import { objectOf } from './objects.ts';
import { restrictedContainer } from './pod-security.ts';

/**
 * A DaemonSet that empties the agents' folder on every node and then waits to be deleted: its pods are ready once the
 * data of their node is gone. Undefined when agents keep no data on nodes.
 */
export function renderDataRemoval(
  input: Pick<PlatformInput, 'namespace' | 'svcImage' | 'imagePullPolicy' | 'agentDataHostPath'>,
): KubeObject | undefined {
  if (input.agentDataHostPath === '') return undefined;
  const labels = { ...selectorLabels('agent'), 'app.kubernetes.io/component': names.dataRemoval };
  const args = ['agent', 'remove-data', `--data-dir=${volumes.data.path}`];
  const container = {
    image: input.svcImage,
    ...(input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy }),
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
          metadata: { labels },
          spec: {
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            nodeSelector: { 'kubernetes.io/os': 'linux' },
            tolerations: [{ operator: 'Exists' }],
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

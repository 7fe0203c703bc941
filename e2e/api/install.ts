import { join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { repository } from '../install/tools.ts';

/** Applies the CRDs as a person does, and waits until the server serves them. */
export async function installCrds(cluster: Pick<Cluster, 'kubectl'>): Promise<void> {
  await cluster.kubectl(['apply', '--server-side', '-f', join(repository, 'crds')]);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', join(repository, 'crds')]);
}

/** Installs stand-ins for the CRDs of the Prometheus Operator, enough to apply monitors. */
export async function installMonitorKinds(cluster: Pick<Cluster, 'kubectl'>): Promise<void> {
  const crds = [
    ['podmonitors', 'PodMonitor'],
    ['servicemonitors', 'ServiceMonitor'],
  ].map(([plural = '', kind = '']) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.monitoring.coreos.com` },
    spec: {
      group: 'monitoring.coreos.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          },
        },
      ],
    },
  }));
  const stdin = crds.map((crd) => JSON.stringify(crd)).join('\n');
  await cluster.kubectl(['apply', '--server-side', '-f', '-'], { stdin });
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=30s', '-f', '-'], { stdin });
}

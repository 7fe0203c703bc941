import type { Cluster } from '../cluster/cluster.ts';

/** A registration of the custom metrics API that another server had before us. */
export const foreignName = 'v1beta1.custom.metrics.k8s.io';
export const foreignOwner = { namespace: 'monitoring', name: 'prometheus-adapter' };

/** A registration, as far as it tells whose it is. */
export interface Registration {
  metadata: { uid: string; labels?: Record<string, string>; managedFields?: { manager: string }[] };
  spec: { service?: { namespace: string; name: string }; insecureSkipTLSVerify?: boolean; caBundle?: string };
}

/** Registers that server, as in a cluster that has used another adapter so far. */
export async function registerForeign(cluster: Cluster): Promise<void> {
  await cluster.api.request('POST', '/apis/apiregistration.k8s.io/v1/apiservices', {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: foreignName },
    spec: {
      ...{ group: 'custom.metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
      ...{ service: foreignOwner, insecureSkipTLSVerify: true },
    },
  });
}

/** A registration of the API by its version. Errors: ApiError 404 where there is none. */
export function registration(cluster: Cluster, version: 'v1beta1' | 'v1beta2'): Promise<Registration> {
  return cluster.api.request('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${version}.custom.metrics.k8s.io`);
}

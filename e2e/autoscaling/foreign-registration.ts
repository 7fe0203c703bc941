import type { Cluster } from '../cluster/cluster.ts';

/** The APIService by which another server registered the custom metrics API before us, and its Service. */
export const foreignName = 'v1beta1.custom.metrics.k8s.io';
export const foreignOwner = { namespace: 'monitoring', name: 'prometheus-adapter' };

/** An APIService: the fields that show its owner. */
export interface Registration {
  metadata: { uid: string; labels?: Record<string, string>; managedFields?: { manager: string }[] };
  spec: { service?: { namespace: string; name: string }; insecureSkipTLSVerify?: boolean; caBundle?: string };
}

/** Registers the other server, as in a cluster that has used another adapter so far. */
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

/** The APIService of a version of the custom metrics API. Errors: ApiError 404 if there is none. */
export function registration(cluster: Cluster, version: 'v1beta1' | 'v1beta2'): Promise<Registration> {
  return cluster.api.request('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${version}.custom.metrics.k8s.io`);
}

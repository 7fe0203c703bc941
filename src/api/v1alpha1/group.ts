import { resourceRef } from '../meta.ts';
import type { ResourceRef } from '../meta.ts';

/** The API group of all our kinds, and the one version that is served and stored. */
export const group = 'svc.dev';
export const version = 'v1alpha1';
export const groupVersion = `${group}/${version}`;

/**
 * `kubectl get svcdev` lists all three kinds. It is not `svc`: kubectl looks at categories before short names, and
 * `kubectl get svc` must go on to list Services.
 */
export const category = 'svcdev';

export const trafficMonitors: ResourceRef = resourceRef({
  group,
  version,
  kind: 'TrafficMonitor',
  plural: 'trafficmonitors',
  namespaced: true,
});

export const clusterTrafficPolicies: ResourceRef = resourceRef({
  group,
  version,
  kind: 'ClusterTrafficPolicy',
  plural: 'clustertrafficpolicies',
  namespaced: false,
});

export const minterDeployments: ResourceRef = resourceRef({
  group,
  version,
  kind: 'MinterDeployment',
  plural: 'minterdeployments',
  namespaced: true,
});

/** Whose kinds they are: `app.kubernetes.io/name` of their definitions. */
export const product = 'svc-operator';

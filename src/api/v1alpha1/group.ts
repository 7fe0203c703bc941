import { resourceRef } from '../meta.ts';
import type { ResourceRef } from '../meta.ts';

/** The API group of all our kinds, and the one version that is served and stored. */
export const group = 'svc.dev';
export const version = 'v1alpha1';
export const groupVersion = `${group}/${version}`;

/**
 * `kubectl get svcdev` lists all three kinds. The category is not named `svc`, because kubectl looks at categories
 * before short names, and `kubectl get svc` must go on to list Services.
 */
export const category = 'svcdev';

const ours = (kind: string, plural: string, namespaced: boolean): ResourceRef =>
  resourceRef({ group, version, kind, plural, namespaced });

export const trafficMonitors = ours('TrafficMonitor', 'trafficmonitors', true);
export const clusterTrafficPolicies = ours('ClusterTrafficPolicy', 'clustertrafficpolicies', false);
export const minterDeployments = ours('MinterDeployment', 'minterdeployments', true);

/** The product that the kinds belong to: `app.kubernetes.io/name` of their definitions. */
export const product = 'svc-operator';

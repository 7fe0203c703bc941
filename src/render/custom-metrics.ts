import type { KubeObject } from '../api/meta.ts';
import type { PlatformInput, ServiceAccountRef } from './input.ts';
import { names, ports } from './names.ts';
import { objectOf } from './objects.ts';
import { clusterRole, clusterRoleBinding, roleBinding } from './rbac.ts';

/** The API that autoscalers read, and the versions of it that the query server speaks; a higher priority is preferred. */
export const customMetricsGroup = 'custom.metrics.k8s.io';
const versions = [
  { version: 'v1beta1', versionPriority: 100 },
  { version: 'v1beta2', versionPriority: 200 },
] as const;

/** Names of the APIServices that registering takes. */
export const customMetricsApiServices: readonly string[] = versions.map((v) => `${v.version}.${customMetricsGroup}`);

/** The horizontal pod autoscaler of kube-controller-manager, as it authenticates. */
const autoscaler: ServiceAccountRef = { namespace: 'kube-system', name: 'horizontal-pod-autoscaler' };

/**
 * Rights around the custom metrics API: the query server may ask who a caller is and what the front proxy's certificate
 * looks like; the autoscaler, and whoever may view a namespace, may read the metrics.
 */
export function renderCustomMetricsRbac(input: PlatformInput): KubeObject[] {
  if (!input.customMetrics) return [];
  const query = { namespace: input.namespace, name: names.query };
  const reader = clusterRole('query', names.customMetricsReader, [
    { apiGroups: [customMetricsGroup], resources: ['*'], verbs: ['get', 'list'] },
  ]);
  reader.metadata.labels = {
    ...reader.metadata.labels,
    'rbac.authorization.k8s.io/aggregate-to-view': 'true',
    'rbac.authorization.k8s.io/aggregate-to-edit': 'true',
    'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
  };
  return [
    clusterRoleBinding('query', names.authDelegator, [query], 'system:auth-delegator'),
    // The front proxy's CA lies in a ConfigMap there, and this Role is the API server's own way to it.
    roleBinding(
      'query',
      { namespace: 'kube-system', name: names.authReader },
      [query],
      'extension-apiserver-authentication-reader',
    ),
    reader,
    // Monitors declare metrics; objects of these kinds are looked up by label, for metrics of many of them at once.
    clusterRole('query', names.customMetricsServer, [
      { apiGroups: ['svc.dev'], resources: ['trafficmonitors'], verbs: ['list', 'watch'] },
      { apiGroups: [''], resources: ['namespaces', 'nodes'], verbs: ['list'] },
      { apiGroups: ['apps'], resources: ['deployments', 'replicasets', 'statefulsets', 'daemonsets'], verbs: ['list'] },
      { apiGroups: ['batch'], resources: ['jobs', 'cronjobs'], verbs: ['list'] },
    ]),
    clusterRoleBinding('query', names.customMetricsServer, [query]),
    // Only with the registration: another server that owns the API has a role of this very name.
    ...(input.customMetrics.register
      ? [
          clusterRole('query', names.customMetricsAccess, [
            { apiGroups: [customMetricsGroup], resources: ['*'], verbs: ['get', 'list'] },
          ]),
          clusterRoleBinding('query', names.customMetricsAccess, [autoscaler]),
        ]
      : []),
  ];
}

/** The registrations with the aggregator. Never without the CA: nobody in between may answer for us. */
export function renderApiServices(input: PlatformInput): KubeObject[] {
  const { caBundle, customMetrics, namespace } = input;
  if (!customMetrics?.register || caBundle === undefined) return [];
  return versions.map(({ version, versionPriority }) =>
    objectOf(
      'APIService',
      { component: 'query', name: `${version}.${customMetricsGroup}` },
      {
        spec: {
          group: customMetricsGroup,
          version,
          groupPriorityMinimum: 100,
          versionPriority,
          service: { name: names.query, namespace, port: ports.customMetrics },
          caBundle: base64(caBundle),
        },
      },
    ),
  );
}

/** Without Buffer: the renderers know no platform. PEM is ASCII. */
const base64 = (ascii: string): string => btoa(ascii);

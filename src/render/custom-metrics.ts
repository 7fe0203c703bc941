import type { KubeObject } from '../api/meta.ts';
import type { PlatformInput, ServiceAccountRef } from './input.ts';
import { names, ports } from './names.ts';
import { base64, objectOf } from './objects.ts';
import { partRules } from './rights/part-rights.ts';
import { aggregatedTo, clusterRole, clusterRoleBinding, roleBinding } from './rights/rbac.ts';

/** The APIs that autoscalers read, in the versions that the query server serves; a higher priority is preferred. */
export const customMetricsGroup = 'custom.metrics.k8s.io';
const externalMetricsGroup = 'external.metrics.k8s.io';
interface Registration {
  readonly group: string;
  readonly version: string;
  readonly versionPriority: number;
}
const custom: readonly Registration[] = [
  { group: customMetricsGroup, version: 'v1beta1', versionPriority: 100 },
  { group: customMetricsGroup, version: 'v1beta2', versionPriority: 200 },
];
const external: readonly Registration[] = [{ group: externalMetricsGroup, version: 'v1beta1', versionPriority: 100 }];

const nameOf = ({ group, version }: Registration): string => `${version}.${group}`;
/** The names of the APIServices by which the custom and the external metrics API are registered. */
export const customMetricsApiServices: readonly string[] = custom.map(nameOf);
export const externalMetricsApiServices: readonly string[] = external.map(nameOf);

/** The horizontal pod autoscaler of kube-controller-manager, as it authenticates. */
const autoscaler: ServiceAccountRef = { namespace: 'kube-system', name: 'horizontal-pod-autoscaler' };

/**
 * Rights for the custom metrics API: the query server may review callers and read the CA of the front proxy's
 * certificate; the autoscaler, and users who may view a namespace, may read the metrics.
 */
export function renderCustomMetricsRbac(input: PlatformInput): KubeObject[] {
  if (!input.customMetrics) return [];
  const query = { namespace: input.namespace, name: names.query };
  const served = [customMetricsGroup, ...(input.externalMetrics ? [externalMetricsGroup] : [])];
  const registered = [
    ...(input.customMetrics.register ? [customMetricsGroup] : []),
    ...(input.externalMetrics?.register ? [externalMetricsGroup] : []),
  ];
  const reader = aggregatedTo(
    ['view', 'edit', 'admin'],
    clusterRole('query', names.customMetricsReader, [{ apiGroups: served, resources: ['*'], verbs: ['get', 'list'] }]),
  );
  return [
    clusterRoleBinding('query', names.authDelegator, [query], 'system:auth-delegator'),
    // The front proxy's CA is in a ConfigMap of kube-system, and this Role is the API server's own way to read it.
    roleBinding(
      'query',
      { namespace: 'kube-system', name: names.authReader },
      [query],
      'extension-apiserver-authentication-reader',
    ),
    reader,
    clusterRole('query', names.customMetricsServer, [
      ...partRules('customMetrics'),
      // A second adapter reviews us in the same way as it reviews an autoscaler.
      ...(input.query?.customMetricsFallback === undefined
        ? []
        : [{ apiGroups: served, resources: ['*'], verbs: ['get', 'list'] }]),
    ]),
    clusterRoleBinding('query', names.customMetricsServer, [query]),
    // Only with the registration: another server that owns the API has a role of the same name.
    ...(registered.length > 0
      ? [
          clusterRole('query', names.customMetricsAccess, [
            { apiGroups: registered, resources: ['*'], verbs: ['get', 'list'] },
          ]),
          clusterRoleBinding('query', names.customMetricsAccess, [autoscaler]),
        ]
      : []),
  ];
}

/** The registrations with the aggregator. There is none without the CA, so that no third party can answer for us. */
export function renderApiServices(input: PlatformInput): KubeObject[] {
  const { caBundle, customMetrics, externalMetrics, namespace } = input;
  if (!customMetrics || caBundle === undefined) return [];
  const registrations = [...(customMetrics.register ? custom : []), ...(externalMetrics?.register ? external : [])];
  return registrations.map((registration) =>
    objectOf(
      'APIService',
      { component: 'query', name: nameOf(registration) },
      {
        spec: {
          ...registration,
          groupPriorityMinimum: 100,
          service: { name: names.query, namespace, port: ports.customMetrics },
          caBundle: base64(caBundle),
        },
      },
    ),
  );
}

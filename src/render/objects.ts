import type { KubeObject, ResourceRef } from '../api/meta.ts';
import { objectLabels } from './names.ts';
import type { Component } from './names.ts';

/** Small constructors for the parts that every object family repeats. */

/** Kinds that we render, with the fields of their REST paths. */
const kindTable = {
  Namespace: { group: '', version: 'v1', plural: 'namespaces', namespaced: false },
  ServiceAccount: { group: '', version: 'v1', plural: 'serviceaccounts', namespaced: true },
  Secret: { group: '', version: 'v1', plural: 'secrets', namespaced: true },
  ConfigMap: { group: '', version: 'v1', plural: 'configmaps', namespaced: true },
  Service: { group: '', version: 'v1', plural: 'services', namespaced: true },
  Deployment: { group: 'apps', version: 'v1', plural: 'deployments', namespaced: true },
  DaemonSet: { group: 'apps', version: 'v1', plural: 'daemonsets', namespaced: true },
  PriorityClass: { group: 'scheduling.k8s.io', version: 'v1', plural: 'priorityclasses', namespaced: false },
  PodDisruptionBudget: { group: 'policy', version: 'v1', plural: 'poddisruptionbudgets', namespaced: true },
  NetworkPolicy: { group: 'networking.k8s.io', version: 'v1', plural: 'networkpolicies', namespaced: true },
  ClusterRole: { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'clusterroles', namespaced: false },
  ClusterRoleBinding: {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    plural: 'clusterrolebindings',
    namespaced: false,
  },
  Role: { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'roles', namespaced: true },
  RoleBinding: { group: 'rbac.authorization.k8s.io', version: 'v1', plural: 'rolebindings', namespaced: true },
  ValidatingWebhookConfiguration: {
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    plural: 'validatingwebhookconfigurations',
    namespaced: false,
  },
  APIService: { group: 'apiregistration.k8s.io', version: 'v1', plural: 'apiservices', namespaced: false },
  PodMonitor: { group: 'monitoring.coreos.com', version: 'v1', plural: 'podmonitors', namespaced: true },
  ServiceMonitor: { group: 'monitoring.coreos.com', version: 'v1', plural: 'servicemonitors', namespaced: true },
} as const;

export type RenderedKind = keyof typeof kindTable;

/** The API resource of each rendered kind: used by controllers to watch and apply. */
export const renderedKinds: Readonly<Record<RenderedKind, ResourceRef>> = Object.fromEntries(
  Object.entries(kindTable).map(([kind, ref]) => [
    kind,
    { ...ref, kind, apiVersion: ref.group === '' ? ref.version : `${ref.group}/${ref.version}` },
  ]),
) as Record<RenderedKind, ResourceRef>;

export interface Identity {
  component: Component;
  name: string;
  namespace?: string;
  instance?: string;
}

/** An object of a rendered kind with our labels. */
export function objectOf(kind: RenderedKind, id: Identity, body: Record<string, unknown>): KubeObject {
  return {
    apiVersion: renderedKinds[kind].apiVersion,
    kind,
    metadata: {
      name: id.name,
      ...(id.namespace === undefined ? {} : { namespace: id.namespace }),
      labels: objectLabels(id.component, id.instance),
    },
    ...body,
  };
}

import { coreResources } from '../api/core-resources.ts';
import type { KubeObject } from '../api/meta.ts';
import { names, objectLabels, selectorLabels } from './names.ts';
import type { Component } from './names.ts';

/** Small constructors for the parts that every object family repeats. */

/** The kinds that we render, as API resources: used by controllers to watch and apply. */
export const renderedKinds = {
  Namespace: coreResources.namespaces,
  ServiceAccount: coreResources.serviceAccounts,
  Secret: coreResources.secrets,
  ConfigMap: coreResources.configMaps,
  Service: coreResources.services,
  Deployment: coreResources.deployments,
  DaemonSet: coreResources.daemonSets,
  PriorityClass: coreResources.priorityClasses,
  PodDisruptionBudget: coreResources.podDisruptionBudgets,
  NetworkPolicy: coreResources.networkPolicies,
  ClusterRole: coreResources.clusterRoles,
  ClusterRoleBinding: coreResources.clusterRoleBindings,
  Role: coreResources.roles,
  RoleBinding: coreResources.roleBindings,
  ValidatingWebhookConfiguration: coreResources.validatingWebhookConfigurations,
  APIService: coreResources.apiServices,
  PodMonitor: coreResources.podMonitors,
  ServiceMonitor: coreResources.serviceMonitors,
} as const;

/** Base64 of ASCII text, such as the PEM of a CA bundle. */
export const base64 = (ascii: string): string => btoa(ascii);

export type RenderedKind = keyof typeof renderedKinds;

export interface Identity {
  component: Component;
  name: string;
  namespace?: string;
  instance?: string;
}

/** The identity of the objects that are named after their component. */
export function ofComponent(component: 'agent' | 'query' | 'controller', namespace: string): Identity {
  return { component, name: names[component], namespace };
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

/** Ports by name. */
type NamedPorts = Readonly<Record<string, number>>;

/** The ports of a container. */
export const containerPorts = (named: NamedPorts) =>
  Object.entries(named).map(([name, containerPort]) => ({ name, containerPort, protocol: 'TCP' }));

/** The ports of a Service: each leads to the container's port of the same name. */
export const servicePorts = (named: NamedPorts) =>
  Object.entries(named).map(([name, port]) => ({
    ...{ name, port, protocol: 'TCP', targetPort: name },
    ...(name === 'https' ? { appProtocol: 'https' } : {}),
  }));

/**
 * The spec of a disruption budget that keeps all pods but one. Pods that are not ready may always be evicted: by default
 * a budget keeps them while too few are ready, and so would hold up each drain for as long as none can become ready.
 */
export const oneAtATime = (matchLabels: Record<string, string>) => {
  return { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow', selector: { matchLabels } };
};

/**
 * Keeps a replica up while nodes are drained. A single replica has no budget, because the budget would prevent draining
 * the node.
 */
export function disruptionBudget(component: 'query' | 'controller', namespace: string, replicas = 2): KubeObject[] {
  if (replicas < 2) return [];
  return [
    objectOf('PodDisruptionBudget', ofComponent(component, namespace), {
      spec: oneAtATime(selectorLabels(component)),
    }),
  ];
}

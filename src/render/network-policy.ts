import type { KubeObject, LabelSelector } from '../api/meta.ts';
import type { PlatformInput, ServiceAccountRef } from './input.ts';
import { anyComponent, names, ports, selectorLabels } from './names.ts';
import type { Component } from './names.ts';
import { objectOf } from './objects.ts';

/** One peer of a NetworkPolicy rule. */
export interface NetworkPeer {
  podSelector?: LabelSelector;
  namespaceSelector?: LabelSelector;
  ipBlock?: { cidr: string; except?: string[] };
}

/** TCP ports of a rule. */
export const tcp = (...list: number[]) => list.map((port) => ({ port, protocol: 'TCP' }));

/** Every pod of a namespace, by the label that the API server puts on each namespace. */
export const namespacePeer = (namespace: string): NetworkPeer => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});

const componentPeer = (component: Component): NetworkPeer => ({
  podSelector: { matchLabels: selectorLabels(component) },
});

function ingressPolicy(component: Component, name: string, namespace: string, ingress: object[]): KubeObject {
  return objectOf(
    'NetworkPolicy',
    { component, name, namespace },
    { spec: { podSelector: { matchLabels: selectorLabels(component) }, policyTypes: ['Ingress'], ingress } },
  );
}

/**
 * The sources that may reach the agents and the query servers, apart from the kubelet's probes, which no policy blocks.
 * Without policy enforcement in the cluster's network these policies have no effect: tokens and mutual TLS protect the
 * ports too.
 */
export function renderPlatformNetworkPolicies(input: PlatformInput): KubeObject[] {
  const { namespace, collector } = input;
  return [
    // A separate policy, because administrators add the namespaces of their own scrapers to it (see user-changes.ts).
    ingressPolicy('agent', names.agentScrape, namespace, [
      { from: [namespacePeer(collector.namespace)], ports: tcp(ports.scrape) },
    ]),
    ingressPolicy('agent', names.agent, namespace, [
      {
        from: [componentPeer('query'), componentPeer('controller')],
        ports: tcp(ports.remoteRead, ports.spanStream),
      },
      { from: [componentPeer('controller')], ports: tcp(ports.captureConfig) },
    ]),
    ingressPolicy('query', names.query, namespace, [
      { from: [{ namespaceSelector: {} }], ports: tcp(ports.query) },
      { from: [namespacePeer(collector.namespace)], ports: tcp(ports.queryHealth) },
      ...(input.customMetrics ? [apiServerIngress(input.apiServerCidrs)] : []),
    ]),
  ];
}

/**
 * The API server calls the custom metrics port. It mostly runs outside the pod network, and its addresses are not known
 * in general: any source is allowed unless ranges are set. The API server's client certificate is checked.
 */
function apiServerIngress(cidrs: readonly string[] | undefined) {
  const from = cidrs && cidrs.length > 0 ? { from: cidrs.map((cidr) => ({ ipBlock: { cidr } })) } : {};
  return { ...from, ports: tcp(ports.customMetrics) };
}

/**
 * Denies all ingress of our pods that no other policy allows, and lets the collector read the operator's metrics.
 * Pods of others are not selected: the namespace may be theirs.
 */
export function renderControllerNetworkPolicies(namespace: string, collector: ServiceAccountRef): KubeObject[] {
  return [
    objectOf(
      'NetworkPolicy',
      { component: 'controller', name: 'svc-default-deny-ingress', namespace },
      // Without an `ingress` member: the API server drops an empty one, and every apply would be a new generation.
      { spec: { podSelector: { matchLabels: anyComponent }, policyTypes: ['Ingress'] } },
    ),
    ingressPolicy('controller', names.controller, namespace, [
      { from: [namespacePeer(collector.namespace)], ports: tcp(ports.controllerMetrics) },
    ]),
  ];
}

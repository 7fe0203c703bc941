import { sharedAgentSecret } from '../api/agents/agent-certificate.ts';

/** Names and labels that all rendered objects share. Selectors depend on them: they never change. */

export type Component = 'agent' | 'query' | 'controller' | 'minter';

export const names = {
  agent: 'svc-agent',
  agentScrape: 'svc-agent-scrape',
  query: 'svc-query',
  controller: 'svc-controller',
  minterManager: 'svc-controller-minters',
  view: 'svc-view',
  edit: 'svc-edit',
  metricsReader: 'svc-metrics-reader',
  promqlReader: 'svc-promql-reader',
  ca: 'svc-ca',
  /** The Secret that agents of earlier versions use. */
  agentTls: sharedAgentSecret,
  queryTls: 'svc-query-tls',
  controllerTls: 'svc-controller-tls',
  webhook: 'svc-controller-webhook',
  caBundle: 'svc-ca-bundle',
  scraper: 'svc-scraper',
  scraperToken: 'svc-scraper-token',
  customMetricsReader: 'svc-custom-metrics-reader',
  customMetricsServer: 'svc-query-custom-metrics',
  customMetricsRules: 'svc-custom-metrics-rules',
  /** The usual name of this role: other servers of custom metrics use it, too. */
  customMetricsAccess: 'custom-metrics-server-resources',
  authDelegator: 'svc-query-auth-delegator',
  authReader: 'svc-query-auth-reader',
  dataRemoval: 'svc-data-removal',
} as const;

/** The default name of the Secret that has the App ID for a MinterDeployment. */
export const appCredentialsSecret = 'vcs-app-credentials';

/** Container ports. The manifests name them; the programs get them as flags. */
export const ports = {
  scrape: 9090,
  remoteRead: 9091,
  spanStream: 9092,
  captureConfig: 9093,
  otlpGrpc: 4317,
  otlpHttp: 4318,
  query: 9095,
  queryHealth: 9096,
  customMetrics: 6443,
  controllerMetrics: 8080,
  minter: 8080,
  minterAdmin: 9090,
} as const;

/** The numeric user and group of the distroless `nonroot` account. Numeric, so that the kubelet can prove non-root. */
export const nonRootId = 65_532;

/** The label that selects the pods of every component. */
export const anyComponent = { 'app.kubernetes.io/name': 'svc-operator' } as const;

/** Labels that select the pods of one component. Immutable in Deployments and DaemonSets. */
export function selectorLabels(component: Component, instance?: string): Record<string, string> {
  return {
    ...anyComponent,
    'app.kubernetes.io/component': component,
    ...(instance === undefined ? {} : { 'app.kubernetes.io/instance': instance }),
  };
}

/** The labels of `selectorLabels` as the text of a label selector, for lists and watches. */
export function selectorText(component: Component): string {
  return Object.entries(selectorLabels(component))
    .map((pair) => pair.join('='))
    .join(',');
}

/** Labels of every object that the operator applies; pruning looks for `managed-by`. */
export function objectLabels(component: Component, instance?: string): Record<string, string> {
  return { ...selectorLabels(component, instance), 'app.kubernetes.io/managed-by': 'svc-controller' };
}

import type { KubeObject } from '../api/meta.ts';
import { renderAgentDaemonSet, renderAgentPriorityClass, renderAgentService } from './agent/daemonset.ts';
import { renderApiServices, renderCustomMetricsRbac } from './custom-metrics.ts';
import type { PlatformInput } from './input.ts';
import { renderMonitors } from './monitors.ts';
import { names } from './names.ts';
import { renderPlatformNetworkPolicies } from './network-policy.ts';
import { disruptionBudget, objectOf } from './objects.ts';
import { renderPlatformRbac } from './rights/platform-rbac.ts';
import { renderQueryDeployment, renderQueryService } from './query-deployment.ts';

/**
 * The objects of agents and query server that the operator keeps in place, except the TLS Secrets, which are issued and
 * not rendered. Each object is complete, for server-side apply. Service accounts and policies come before the pods that
 * need them; the registration of the custom metrics API comes after the server that answers it.
 * The namespace and the default-deny policy belong to the operator's own installation (`renderController`).
 */
export function renderPlatform(input: PlatformInput): KubeObject[] {
  return [
    renderAgentPriorityClass(),
    ...renderPlatformRbac(input),
    ...renderCustomMetricsRbac(input),
    ...renderPlatformNetworkPolicies(input),
    ...renderCaBundle(input),
    renderAgentService(input),
    renderQueryService(input),
    ...disruptionBudget('query', input.namespace, input.queryReplicas),
    renderAgentDaemonSet(input),
    renderQueryDeployment(input),
    ...renderMonitors(input),
    ...renderApiServices(input),
  ];
}

/**
 * The CAs against which clients verify the server on port 9095. Separate from the CA's Secret, which holds the key and
 * which clients may not read.
 */
function renderCaBundle({ namespace, caBundle }: PlatformInput): KubeObject[] {
  if (caBundle === undefined) return [];
  return [
    objectOf('ConfigMap', { component: 'query', name: names.caBundle, namespace }, { data: { 'ca.crt': caBundle } }),
  ];
}

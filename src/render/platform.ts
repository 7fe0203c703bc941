import type { KubeObject } from '../api/meta.ts';
import { renderAgentDaemonSet, renderAgentPriorityClass, renderAgentService } from './agent-daemonset.ts';
import type { PlatformInput } from './input.ts';
import { renderPlatformNetworkPolicies } from './network-policy.ts';
import { renderPlatformRbac } from './platform-rbac.ts';
import { renderQueryDeployment, renderQueryDisruptionBudget, renderQueryService } from './query-deployment.ts';

/**
 * Agents and query server: everything the operator keeps in place, except the TLS Secrets, which it writes itself.
 * Shape: complete objects for server-side apply; identities and policies come before the pods that need them.
 * The namespace and the default-deny policy belong to the operator's own installation (`renderController`).
 */
export function renderPlatform(input: PlatformInput): KubeObject[] {
  return [
    renderAgentPriorityClass(),
    ...renderPlatformRbac(input),
    ...renderPlatformNetworkPolicies(input),
    renderAgentService(input),
    renderQueryService(input),
    ...renderQueryDisruptionBudget(input),
    renderAgentDaemonSet(input),
    renderQueryDeployment(input),
  ];
}

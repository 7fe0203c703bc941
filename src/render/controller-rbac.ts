import type { KubeObject } from '../api/meta.ts';
import { group } from '../api/v1alpha1/index.ts';
import type { ControllerInput } from './input.ts';
import { names } from './names.ts';
import { clusterRole, clusterRoleBinding, role, roleBinding, serviceAccount } from './rbac.ts';
import type { PolicyRule } from './rbac.ts';

const read = ['get', 'list', 'watch'];
const keep = [...read, 'create', 'patch', 'delete'];
const rbacGroup = 'rbac.authorization.k8s.io';

/** Roles that the operator hands out. It holds none of their rights itself: it may bind and write these names only. */
const handedOut = [names.agent, names.query, names.metricsReader, names.promqlReader];

/** What the operator needs in the whole cluster. */
const clusterRules: PolicyRule[] = [
  {
    apiGroups: [group],
    resources: ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments'],
    verbs: [...read, 'patch'],
  },
  {
    apiGroups: [group],
    resources: ['trafficmonitors/status', 'clustertrafficpolicies/status', 'minterdeployments/status'],
    verbs: ['get', 'patch'],
  },
  // Owner references that block deletion need this where the admission plugin for them is on.
  {
    apiGroups: [group],
    resources: ['trafficmonitors/finalizers', 'clustertrafficpolicies/finalizers', 'minterdeployments/finalizers'],
    verbs: ['update'],
  },
  // Which pods a monitor matches, on which nodes, in which namespaces.
  { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces'], verbs: read },
  // A minter and its objects live in the namespace of its MinterDeployment, which may be any.
  { apiGroups: [''], resources: ['serviceaccounts', 'configmaps', 'services'], verbs: keep },
  { apiGroups: ['apps'], resources: ['deployments'], verbs: keep },
  { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: keep },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: keep },
  // Only to tell whether the App ID that a minter refers to is there and a number.
  { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  { apiGroups: [rbacGroup], resources: ['clusterroles', 'clusterrolebindings'], verbs: read },
  {
    apiGroups: [rbacGroup],
    resources: ['clusterroles'],
    resourceNames: handedOut,
    verbs: ['create', 'patch', 'delete', 'bind', 'escalate'],
  },
  {
    apiGroups: [rbacGroup],
    resources: ['clusterrolebindings'],
    resourceNames: handedOut,
    verbs: ['create', 'patch', 'delete'],
  },
  { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: read },
  {
    apiGroups: ['scheduling.k8s.io'],
    resources: ['priorityclasses'],
    resourceNames: [names.agent],
    verbs: ['create', 'patch', 'delete'],
  },
];

/** What it needs only where it runs: the agents, its certificates, its lease. */
const namespaceRules: PolicyRule[] = [
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: keep },
  // The authority is created and replaced, never merged: its Secret is written as a whole.
  { apiGroups: [''], resources: ['secrets'], verbs: [...keep, 'update'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
];

/** Identity and rights of the operator: what it calls, and no more. A test runs it under exactly these. */
export function renderControllerRbac(input: ControllerInput): KubeObject[] {
  const account = { namespace: input.namespace, name: names.controller };
  return [
    serviceAccount('controller', account),
    clusterRole('controller', names.controller, clusterRules),
    clusterRoleBinding('controller', names.controller, [account]),
    role('controller', account, namespaceRules),
    roleBinding('controller', account, [account]),
  ];
}

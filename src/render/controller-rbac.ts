import type { KubeObject } from '../api/meta.ts';
import { group } from '../api/v1alpha1/index.ts';
import { customMetricsApiServices, externalMetricsApiServices } from './custom-metrics.ts';
import type { ControllerInput } from './input.ts';
import { names } from './names.ts';
import { clusterRole, clusterRoleBinding, role, roleBinding, serviceAccount } from './rbac.ts';
import type { PolicyRule } from './rbac.ts';

const read = ['get', 'list', 'watch'];
const keep = [...read, 'create', 'patch', 'delete'];
const rbacGroup = 'rbac.authorization.k8s.io';
const apiRegistration = 'apiregistration.k8s.io';

/** Roles that the operator hands out. It holds none of their rights itself: it may bind and write these names only. */
const handedOut = [
  names.agent,
  names.query,
  names.metricsReader,
  names.promqlReader,
  names.customMetricsReader,
  names.customMetricsAccess,
  names.customMetricsServer,
];
/** Bindings of those, and of a role of the API server's own. */
const bindings = [...handedOut, names.scraper, names.authDelegator];

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
    resourceNames: bindings,
    verbs: ['create', 'patch', 'delete'],
  },
  { apiGroups: [rbacGroup], resources: ['clusterroles'], resourceNames: ['system:auth-delegator'], verbs: ['bind'] },
  // Whose the APIs for autoscalers are; ours are written, others' only seen.
  { apiGroups: [apiRegistration], resources: ['apiservices'], verbs: read },
  {
    apiGroups: [apiRegistration],
    resources: ['apiservices'],
    resourceNames: [...customMetricsApiServices, ...externalMetricsApiServices],
    verbs: ['create', 'patch', 'delete'],
  },
  // Which kinds the cluster serves: monitors are rendered where there are such.
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: read },
  // The registration of its own webhooks.
  { apiGroups: ['admissionregistration.k8s.io'], resources: ['validatingwebhookconfigurations'], verbs: read },
  {
    apiGroups: ['admissionregistration.k8s.io'],
    resources: ['validatingwebhookconfigurations'],
    resourceNames: [names.controller],
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
  {
    apiGroups: ['monitoring.coreos.com'],
    resources: ['podmonitors', 'servicemonitors'],
    verbs: keep,
  },
];

/** In kube-system: one binding, of one role, for the query server's custom metrics API. */
const systemRules: PolicyRule[] = [
  { apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: read },
  {
    apiGroups: [rbacGroup],
    resources: ['rolebindings'],
    resourceNames: [names.authReader],
    verbs: ['create', 'patch', 'delete'],
  },
  {
    apiGroups: [rbacGroup],
    resources: ['roles'],
    resourceNames: ['extension-apiserver-authentication-reader'],
    verbs: ['bind'],
  },
];

/** Identity and rights of the operator: what it calls, and no more. A test runs it under exactly these. */
export function renderControllerRbac(input: ControllerInput): KubeObject[] {
  const account = { namespace: input.namespace, name: names.controller };
  const system = { namespace: 'kube-system', name: names.controller };
  return [
    serviceAccount('controller', account),
    clusterRole('controller', names.controller, clusterRules),
    clusterRoleBinding('controller', names.controller, [account]),
    role('controller', account, namespaceRules),
    roleBinding('controller', account, [account]),
    role('controller', system, systemRules),
    roleBinding('controller', system, [account]),
  ];
}

import { group } from '../../api/v1alpha1/index.ts';
import { customMetricsApiServices, externalMetricsApiServices } from '../custom-metrics.ts';
import { appCredentialsSecret, names } from '../names.ts';
import { reviewRights, type Right } from './rbac.ts';

const read = ['get', 'list', 'watch'];
const write = ['create', 'patch', 'delete'];
const keep = [...read, ...write];
const rbacGroup = 'rbac.authorization.k8s.io';
const apiRegistration = 'apiregistration.k8s.io';

/** Roles that the operator binds. It holds none of their rights itself: it may bind and write only these names. */
const handedOut = [
  names.agent,
  names.query,
  names.metricsReader,
  names.promqlReader,
  names.customMetricsReader,
  names.customMetricsAccess,
  names.customMetricsServer,
];
/** Bindings of those roles, and of one of the API server's own roles. */
const bindings = [...handedOut, names.scraper, names.authDelegator];

/** In the whole cluster. Writes are restricted to names, except for the status of our kinds and for Events. */
const cluster: Right[] = [
  {
    rule: {
      apiGroups: [group],
      resources: ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments'],
      verbs: read,
    },
    why: 'Caches of our kinds, which may be in any namespace.',
  },
  {
    rule: {
      apiGroups: [group],
      resources: ['trafficmonitors/status', 'clustertrafficpolicies/status', 'minterdeployments/status'],
      verbs: ['patch'],
    },
    why: 'Conditions and counts of each object, written by server-side apply.',
  },
  {
    rule: {
      apiGroups: [group],
      resources: ['trafficmonitors/finalizers', 'clustertrafficpolicies/finalizers', 'minterdeployments/finalizers'],
      verbs: ['update'],
    },
    why: 'No call of its own: the admission plugin OwnerReferencesPermissionEnforcement asks for it where owner references block deletion.',
  },
  {
    rule: { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces'], verbs: read },
    why: 'Caches: which pods a monitor matches, on which nodes, in which namespaces.',
  },
  {
    rule: { apiGroups: [''], resources: ['serviceaccounts', 'configmaps', 'services'], verbs: read },
    why: 'Caches of what minters are made of, in any namespace; the ConfigMaps of rules and `gitops-state`; a service account that a MinterDeployment names.',
  },
  {
    rule: { apiGroups: ['apps'], resources: ['deployments'], verbs: read },
    why: 'Cache of minters.',
  },
  {
    rule: { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: read },
    why: 'Cache of the policies of minters.',
  },
  {
    rule: { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: read },
    why: 'Cache of the budgets of minters.',
  },
  {
    rule: { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    why: 'Events of our objects, in their namespaces; one that repeats is counted up.',
  },
  {
    rule: { apiGroups: [rbacGroup], resources: ['clusterroles', 'clusterrolebindings'], verbs: read },
    why: 'Caches of the roles that it hands out.',
  },
  {
    rule: {
      apiGroups: [rbacGroup],
      resources: ['clusterroles'],
      resourceNames: handedOut,
      verbs: [...write, 'bind', 'escalate'],
    },
    why: 'Roles of agents, query server, scrapers and autoscalers. It has none of their rights itself, so the API server asks for bind and escalate.',
  },
  {
    rule: { apiGroups: [rbacGroup], resources: ['clusterrolebindings'], resourceNames: bindings, verbs: write },
    why: 'Who has these roles.',
  },
  {
    rule: {
      apiGroups: [rbacGroup],
      resources: ['clusterroles'],
      resourceNames: ['system:auth-delegator'],
      verbs: ['bind'],
    },
    why: 'No call of its own: asked for when the query server, as an aggregated API, is given that role.',
  },
  {
    rule: { apiGroups: [apiRegistration], resources: ['apiservices'], verbs: read },
    why: 'Cache: whose the APIs for autoscalers are.',
  },
  {
    rule: {
      apiGroups: [apiRegistration],
      resources: ['apiservices'],
      resourceNames: [...customMetricsApiServices, ...externalMetricsApiServices],
      verbs: write,
    },
    why: 'Registration of the APIs for autoscalers.',
  },
  {
    rule: { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: read },
    why: 'Cache: whether the cluster has the kinds of the Prometheus Operator.',
  },
  {
    rule: { apiGroups: ['admissionregistration.k8s.io'], resources: ['validatingwebhookconfigurations'], verbs: read },
    why: 'Cache of the registration of its webhooks.',
  },
  {
    rule: {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['validatingwebhookconfigurations'],
      resourceNames: [names.controller],
      verbs: write,
    },
    why: 'Registration of its webhooks, where admission is on.',
  },
  {
    rule: { apiGroups: ['scheduling.k8s.io'], resources: ['priorityclasses'], verbs: read },
    why: "Cache of the agents' priority.",
  },
  {
    rule: {
      apiGroups: ['scheduling.k8s.io'],
      resources: ['priorityclasses'],
      resourceNames: [names.agent],
      verbs: write,
    },
    why: "The agents' priority.",
  },
  ...reviewRights('Who scrapes its metrics, and whether an agent that is to get a certificate is the one of its node.'),
];

/** In its own namespace: agents, query server, certificates, lease. */
const own: Right[] = [
  {
    rule: { apiGroups: [''], resources: ['serviceaccounts', 'configmaps', 'services'], verbs: keep },
    why: 'Accounts and Services of agents and query server; ConfigMaps of the authority, of nodes that left and of what it remembers.',
  },
  {
    rule: { apiGroups: ['apps'], resources: ['daemonsets', 'deployments'], verbs: keep },
    why: 'Agents and query server.',
  },
  {
    rule: { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: keep },
    why: 'Who reaches agents and query server.',
  },
  {
    rule: { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: keep },
    why: 'Disruption budget of the query server.',
  },
  {
    rule: { apiGroups: [''], resources: ['secrets'], verbs: [...keep, 'update'] },
    why: "Certificates and their authority, which is replaced as a whole and never merged; the scraper's token; tokens for destinations of policies.",
  },
  {
    rule: { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] },
    why: 'Leader election.',
  },
  {
    rule: { apiGroups: ['monitoring.coreos.com'], resources: ['podmonitors', 'servicemonitors'], verbs: keep },
    why: 'How the Prometheus Operator scrapes, where it is there.',
  },
];

/** In kube-system: one binding, of one role, for the query server's APIs for autoscalers. */
const kubeSystem: Right[] = [
  {
    rule: { apiGroups: [rbacGroup], resources: ['rolebindings'], verbs: read },
    why: 'Cache of that binding.',
  },
  {
    rule: { apiGroups: [rbacGroup], resources: ['rolebindings'], resourceNames: [names.authReader], verbs: write },
    why: 'The query server reads who the front proxy is.',
  },
  {
    rule: {
      apiGroups: [rbacGroup],
      resources: ['roles'],
      resourceNames: ['extension-apiserver-authentication-reader'],
      verbs: ['bind'],
    },
    why: 'No call of its own: asked for when that role is handed out.',
  },
];

/** In each namespace that a RoleBinding opens to it for minters. */
const minters: Right[] = [
  {
    rule: { apiGroups: [''], resources: ['serviceaccounts', 'configmaps', 'services'], verbs: write },
    why: 'Account, rules and Service of a minter.',
  },
  { rule: { apiGroups: ['apps'], resources: ['deployments'], verbs: write }, why: 'Pods of a minter.' },
  {
    rule: { apiGroups: ['networking.k8s.io'], resources: ['networkpolicies'], verbs: write },
    why: 'Who reaches a minter, and what it reaches.',
  },
  {
    rule: { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: write },
    why: 'Disruption budget of a minter.',
  },
  {
    rule: { apiGroups: [''], resources: ['secrets'], resourceNames: [appCredentialsSecret], verbs: ['get'] },
    why: 'Whether the App ID is there and a number; only its hash is kept. A Secret of another name needs a right of its own.',
  },
];

export const controllerRights = { cluster, own, kubeSystem, minters } as const;

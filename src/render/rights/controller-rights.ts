import { group } from '../../api/v1alpha1/index.ts';
import { customMetricsApiServices, externalMetricsApiServices } from '../custom-metrics.ts';
import { appCredentialsSecret, names } from '../names.ts';
import { ourKinds, reviewRights, rule, type Right } from './rbac.ts';

const read = ['get', 'list', 'watch'];
const write = ['create', 'patch', 'delete'];
const keep = [...read, ...write];
const rbacGroup = 'rbac.authorization.k8s.io';
const apiRegistration = 'apiregistration.k8s.io';

/** Roles that the operator binds. It has none of their rights itself, and may bind and write only these roles. */
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

/** Rights in the whole cluster. Writes are restricted to names, except for the status of our kinds and for Events. */
const cluster: Right[] = [
  {
    rule: rule(group, ourKinds, read),
    why: 'Caches of our kinds, which may be in any namespace.',
  },
  {
    rule: rule(
      group,
      ourKinds.map((kind) => `${kind}/status`),
      ['patch'],
    ),
    why: 'Conditions and counts of each object, written by server-side apply.',
  },
  {
    rule: rule(
      group,
      ourKinds.map((kind) => `${kind}/finalizers`),
      ['update'],
    ),
    why: 'No call of its own: the admission plugin OwnerReferencesPermissionEnforcement asks for it where owner references block deletion.',
  },
  {
    rule: rule('', ['pods', 'nodes', 'namespaces'], read),
    why: 'Caches: which pods a monitor matches, on which nodes, in which namespaces.',
  },
  {
    rule: rule('', ['serviceaccounts', 'configmaps', 'services'], read),
    why: 'Caches of the objects of minters, in any namespace; the ConfigMaps of rules and `gitops-state`; a service account that a MinterDeployment names.',
  },
  {
    rule: rule('apps', ['deployments'], read),
    why: 'Cache of minters.',
  },
  {
    rule: rule('networking.k8s.io', ['networkpolicies'], read),
    why: 'Cache of the policies of minters.',
  },
  {
    rule: rule('policy', ['poddisruptionbudgets'], read),
    why: 'Cache of the budgets of minters.',
  },
  {
    rule: rule('events.k8s.io', ['events'], ['create', 'patch']),
    why: 'Events of our objects, in their namespaces; a repeated Event has its count raised.',
  },
  {
    rule: rule(rbacGroup, ['clusterroles', 'clusterrolebindings'], read),
    why: 'Caches of the roles that the operator binds.',
  },
  {
    rule: rule(rbacGroup, ['clusterroles'], [...write, 'bind', 'escalate'], handedOut),
    why: 'Roles of agents, query server, scrapers and autoscalers. The operator has none of their rights itself, so the API server asks for bind and escalate.',
  },
  {
    rule: rule(rbacGroup, ['clusterrolebindings'], write, bindings),
    why: 'Bindings of these roles.',
  },
  {
    rule: rule(rbacGroup, ['clusterroles'], ['bind'], ['system:auth-delegator']),
    why: 'No call of its own: asked for when the query server, as an aggregated API, is given that role.',
  },
  {
    rule: rule(apiRegistration, ['apiservices'], read),
    why: 'Cache: which server has registered the APIs for autoscalers.',
  },
  {
    rule: rule(apiRegistration, ['apiservices'], write, [...customMetricsApiServices, ...externalMetricsApiServices]),
    why: 'Registration of the APIs for autoscalers.',
  },
  {
    rule: rule('apiextensions.k8s.io', ['customresourcedefinitions'], read),
    why: 'Cache: whether the cluster has the kinds of the Prometheus Operator.',
  },
  {
    rule: rule('admissionregistration.k8s.io', ['validatingwebhookconfigurations'], read),
    why: 'Cache of the registration of its webhooks.',
  },
  {
    rule: rule('admissionregistration.k8s.io', ['validatingwebhookconfigurations'], write, [names.controller]),
    why: 'Registration of its webhooks, where admission is on.',
  },
  {
    rule: rule('scheduling.k8s.io', ['priorityclasses'], read),
    why: "Cache of the agents' priority.",
  },
  {
    rule: rule('scheduling.k8s.io', ['priorityclasses'], write, [names.agent]),
    why: "The agents' priority.",
  },
  ...reviewRights('Reviews the tokens of scrapers, and of agents that ask for a certificate.'),
];

/** Rights in the operator's own namespace: for agents, query server, certificates and lease. */
const own: Right[] = [
  {
    rule: rule('', ['serviceaccounts', 'configmaps', 'services'], keep),
    why: 'Accounts and Services of agents and query server; ConfigMaps with the CA bundle, the nodes that left and other records of the operator.',
  },
  {
    rule: rule('apps', ['daemonsets', 'deployments'], keep),
    why: 'Agents and query server; the end of a removal of data that was given up.',
  },
  {
    rule: rule('networking.k8s.io', ['networkpolicies'], keep),
    why: 'NetworkPolicies of agents and query server.',
  },
  {
    rule: rule('policy', ['poddisruptionbudgets'], keep),
    why: 'Disruption budget of the query server.',
  },
  {
    rule: rule('', ['secrets'], [...keep, 'update']),
    why: "Certificates and their authority, which is replaced as a whole and never merged; the scraper's token; tokens for destinations of policies.",
  },
  {
    rule: rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch']),
    why: 'Leader election.',
  },
  {
    rule: rule('monitoring.coreos.com', ['podmonitors', 'servicemonitors'], keep),
    why: 'Scrape configuration, where the Prometheus Operator is installed.',
  },
];

/** Rights in kube-system: for one binding of one role, which the query server's APIs for autoscalers need. */
const kubeSystem: Right[] = [
  {
    rule: rule(rbacGroup, ['rolebindings'], read),
    why: 'Cache of that binding.',
  },
  {
    rule: rule(rbacGroup, ['rolebindings'], write, [names.authReader]),
    why: 'Lets the query server read the CAs of the front proxy.',
  },
  {
    rule: rule(rbacGroup, ['roles'], ['bind'], ['extension-apiserver-authentication-reader']),
    why: 'No call of its own: asked for when that role is bound.',
  },
];

/** Rights in each namespace in which a RoleBinding lets the operator run minters. */
const minters: Right[] = [
  {
    rule: rule('', ['serviceaccounts', 'configmaps', 'services'], write),
    why: 'Account, rules and Service of a minter.',
  },
  { rule: rule('apps', ['deployments'], write), why: 'Pods of a minter.' },
  {
    rule: rule('networking.k8s.io', ['networkpolicies'], write),
    why: 'NetworkPolicies of a minter: its callers, and what it may call.',
  },
  {
    rule: rule('policy', ['poddisruptionbudgets'], write),
    why: 'Disruption budget of a minter.',
  },
  {
    rule: rule('', ['secrets'], ['get'], [appCredentialsSecret]),
    why: 'Checks that the App ID exists and is a number; only its hash is kept. A Secret of another name needs a right of its own.',
  },
];

export const controllerRights = { cluster, own, kubeSystem, minters } as const;

import { resourceRef } from './meta.ts';

const core = (kind: string, plural: string, namespaced = true) =>
  resourceRef({ group: '', version: 'v1', kind, plural, namespaced });
const grouped = (group: string, kind: string, plural: string, namespaced = true) =>
  resourceRef({ group, version: 'v1', kind, plural, namespaced });

/** The kinds that we read or write but do not define: those of Kubernetes, and two of the Prometheus Operator. */
export const coreResources = {
  namespaces: core('Namespace', 'namespaces', false),
  nodes: core('Node', 'nodes', false),
  pods: core('Pod', 'pods'),
  services: core('Service', 'services'),
  secrets: core('Secret', 'secrets'),
  configMaps: core('ConfigMap', 'configmaps'),
  serviceAccounts: core('ServiceAccount', 'serviceaccounts'),
  deployments: grouped('apps', 'Deployment', 'deployments'),
  daemonSets: grouped('apps', 'DaemonSet', 'daemonsets'),
  replicaSets: grouped('apps', 'ReplicaSet', 'replicasets'),
  statefulSets: grouped('apps', 'StatefulSet', 'statefulsets'),
  jobs: grouped('batch', 'Job', 'jobs'),
  cronJobs: grouped('batch', 'CronJob', 'cronjobs'),
  networkPolicies: grouped('networking.k8s.io', 'NetworkPolicy', 'networkpolicies'),
  podDisruptionBudgets: grouped('policy', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  roles: grouped('rbac.authorization.k8s.io', 'Role', 'roles'),
  roleBindings: grouped('rbac.authorization.k8s.io', 'RoleBinding', 'rolebindings'),
  clusterRoles: grouped('rbac.authorization.k8s.io', 'ClusterRole', 'clusterroles', false),
  clusterRoleBindings: grouped('rbac.authorization.k8s.io', 'ClusterRoleBinding', 'clusterrolebindings', false),
  leases: grouped('coordination.k8s.io', 'Lease', 'leases'),
  events: grouped('events.k8s.io', 'Event', 'events'),
  customResourceDefinitions: grouped(
    'apiextensions.k8s.io',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
  validatingWebhookConfigurations: grouped(
    'admissionregistration.k8s.io',
    'ValidatingWebhookConfiguration',
    'validatingwebhookconfigurations',
    false,
  ),
  endpointSlices: grouped('discovery.k8s.io', 'EndpointSlice', 'endpointslices'),
  priorityClasses: grouped('scheduling.k8s.io', 'PriorityClass', 'priorityclasses', false),
  apiServices: grouped('apiregistration.k8s.io', 'APIService', 'apiservices', false),
  tokenReviews: grouped('authentication.k8s.io', 'TokenReview', 'tokenreviews', false),
  subjectAccessReviews: grouped('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews', false),
  podMonitors: grouped('monitoring.coreos.com', 'PodMonitor', 'podmonitors'),
  serviceMonitors: grouped('monitoring.coreos.com', 'ServiceMonitor', 'servicemonitors'),
} as const;

import { nodeRecordName } from '../../api/agents/record-text.ts';
import { group } from '../../api/v1alpha1/index.ts';
import { ourKinds, reviewRights, rule, type Right } from './rbac.ts';

const listWatch = ['list', 'watch'];

/** Rights of each agent: ClusterRole `svc-agent`. The instrument in its pod uses the same account. */
const agent: Right[] = [
  {
    rule: rule('', ['pods', 'services', 'nodes'], listWatch),
    why: "Whose data it is: the agent's cache of the pods of its node, and the instrument's informers, which name both ends of a flow.",
  },
  {
    rule: rule('apps', ['replicasets'], listWatch),
    why: "The instrument's informers: which workload a pod belongs to.",
  },
  ...reviewRights('Who scrapes its metrics.'),
];

/** Rights of the query server: ClusterRole `svc-query`. */
const query: Right[] = [
  {
    rule: rule('', ['pods', 'services', 'nodes', 'namespaces'], listWatch),
    why: 'Which nodes should have an agent, at which addresses agents are, whose another address is, and the namespaces that tenants may see.',
  },
  {
    rule: rule('', ['configmaps'], listWatch, [nodeRecordName]),
    why: 'Which nodes left, so that an answer says what it lacks.',
  },
  {
    rule: rule('apps', ['daemonsets'], listWatch),
    why: 'On which nodes agents should run.',
  },
  {
    rule: rule(group, ourKinds, listWatch),
    why: 'Limits of queries (`spec.query`), and the objects that the page shows to those who may read them.',
  },
  ...reviewRights('Who asks, what they may query, and with tenancy whose pods they may see.'),
];

/**
 * Additional rights of the query server when it serves metrics for autoscalers: ClusterRole `svc-query-custom-metrics`.
 */
const customMetrics: Right[] = [
  {
    rule: rule(group, ['trafficmonitors'], listWatch),
    why: 'The metrics that monitors declare for autoscalers.',
  },
  {
    rule: rule('', ['namespaces', 'nodes'], ['list']),
    why: 'Metrics of many objects at once: which of them have the labels that were asked for.',
  },
  {
    rule: rule('apps', ['deployments', 'replicasets', 'statefulsets', 'daemonsets'], ['list']),
    why: 'The same for workloads.',
  },
  { rule: rule('batch', ['jobs', 'cronjobs'], ['list']), why: 'The same for jobs.' },
];

export const partRights = { agent, query, customMetrics } as const;

/** The rules of a part's role. */
export function partRules(part: keyof typeof partRights): Right['rule'][] {
  return partRights[part].map(({ rule }) => rule);
}

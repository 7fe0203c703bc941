import type { KubeObject } from '../api/meta.ts';
import { nodeRecordName } from '../api/agents/record-text.ts';
import type { PlatformInput } from './input.ts';
import { names } from './names.ts';
import { clusterRole, clusterRoleBinding, reviewRules, serviceAccount } from './rbac.ts';
import { promqlReadPath } from '../api/rights.ts';

const listWatch = ['list', 'watch'];

/** Identities of agent and query, and the two roles that people and collectors are bound to. */
export function renderPlatformRbac(input: PlatformInput): KubeObject[] {
  const agent = { namespace: input.namespace, name: names.agent };
  const query = { namespace: input.namespace, name: names.query };
  return [
    serviceAccount('agent', agent),
    serviceAccount('query', query),

    // The instrument's informers and the agent's own pod cache read the same objects; both use this account.
    clusterRole('agent', names.agent, [
      { apiGroups: [''], resources: ['pods', 'services', 'nodes'], verbs: listWatch },
      { apiGroups: ['apps'], resources: ['replicasets'], verbs: listWatch },
      ...reviewRules,
    ]),
    clusterRoleBinding('agent', names.agent, [agent]),

    // Nodes and the DaemonSet tell which agents should answer; pods tell where they are; namespaces what tenants may
    // see; one ConfigMap, which nodes left.
    clusterRole('query', names.query, [
      { apiGroups: [''], resources: ['pods', 'nodes', 'namespaces'], verbs: listWatch },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: [nodeRecordName], verbs: listWatch },
      { apiGroups: ['apps'], resources: ['daemonsets'], verbs: listWatch },
      ...reviewRules,
    ]),
    clusterRoleBinding('query', names.query, [query]),

    clusterRole('agent', names.metricsReader, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]),
    clusterRoleBinding('agent', names.metricsReader, [input.collector]),

    // Not bound here: whoever may read captured metrics is added by the cluster's administrators.
    clusterRole('query', names.promqlReader, [{ nonResourceURLs: [promqlReadPath], verbs: ['get'] }]),
  ];
}

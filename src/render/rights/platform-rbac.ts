import type { KubeObject } from '../../api/meta.ts';
import type { PlatformInput } from '../input.ts';
import { names } from '../names.ts';
import { partRules } from './part-rights.ts';
import { clusterRole, clusterRoleBinding, serviceAccount } from './rbac.ts';
import { promqlReadPath } from '../../api/rights.ts';

/** Identities of agents and query server, and the two roles that users and collectors are bound to. */
export function renderPlatformRbac(input: PlatformInput): KubeObject[] {
  const agent = { namespace: input.namespace, name: names.agent };
  const query = { namespace: input.namespace, name: names.query };
  return [
    serviceAccount('agent', agent),
    serviceAccount('query', query),

    clusterRole('agent', names.agent, partRules('agent')),
    clusterRoleBinding('agent', names.agent, [agent]),

    clusterRole('query', names.query, partRules('query')),
    clusterRoleBinding('query', names.query, [query]),

    clusterRole('agent', names.metricsReader, [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]),
    clusterRoleBinding('agent', names.metricsReader, [input.collector]),

    // Not bound here: the cluster's administrators bind it to the readers of captured metrics.
    clusterRole('query', names.promqlReader, [{ nonResourceURLs: [promqlReadPath], verbs: ['get'] }]),
  ];
}

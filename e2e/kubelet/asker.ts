/** Queries the product as a client in the cluster does: at the Service's address, with a token. */
import { instantQuery, type QueryAnswer, type QueryTarget } from '../demo/query-client.ts';
import { publishedAuthority } from './check-rollouts.ts';
import type { Stage } from './check.ts';

/** A client that may read everything. */
export interface Asker {
  query(promql: string): Promise<QueryAnswer>;
}

/** Makes an account with the product's role for readers, and a token of three hours for it. */
export async function openAsker(stage: Stage): Promise<Asker> {
  const { api, kubectl } = stage;
  const [namespace, name] = ['default', 'e2e-reader'];
  const items = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'svc-promql-reader' },
      subjects: [{ kind: 'ServiceAccount', namespace, name }],
    },
  ];
  await kubectl(['apply', '-f', '-'], { stdin: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
  const token = (await kubectl(['-n', namespace, 'create', 'token', name, '--duration=3h'])).trim();
  const path = '/api/v1/namespaces/svc-system/services/svc-query';
  const { spec } = await api.request<{ spec: { clusterIP: string } }>('GET', path);
  let ca = await publishedAuthority(stage);
  return {
    async query(promql) {
      const target: QueryTarget = { host: spec.clusterIP, port: 9_095, ca, token };
      try {
        return await instantQuery(target, promql);
      } finally {
        // As in a pod that mounts the CA: the one published last is used, also while the API server is down.
        void publishedAuthority(stage).then(
          (published) => (ca = published),
          () => {},
        );
      }
    },
  };
}

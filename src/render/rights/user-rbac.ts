import type { KubeObject } from '../../api/meta.ts';
import { group } from '../../api/v1alpha1/index.ts';
import { names } from '../names.ts';
import { aggregatedTo, clusterRole } from './rbac.ts';

const ofNamespaces = ['trafficmonitors', 'minterdeployments'];

/**
 * Users' rights on our kinds, added to the API server's own roles: users who may view a namespace see its monitors and
 * minters, users who may edit it write them. Neither role gives such users more than they have anyway: they could
 * create a minter's pod and service account by hand. Policies concern the whole cluster: they are shown where a role is
 * bound for all of it, and written by its administrators.
 * Source: kubernetes.io/docs, "Aggregated ClusterRoles".
 */
export function renderUserRbac(): KubeObject[] {
  return [
    aggregatedTo(
      ['view', 'edit', 'admin'],
      clusterRole('controller', names.view, [
        { apiGroups: [group], resources: [...ofNamespaces, 'clustertrafficpolicies'], verbs: ['get', 'list', 'watch'] },
      ]),
    ),
    aggregatedTo(
      ['edit', 'admin'],
      clusterRole('controller', names.edit, [
        {
          apiGroups: [group],
          resources: ofNamespaces,
          verbs: ['create', 'update', 'patch', 'delete', 'deletecollection'],
        },
      ]),
    ),
  ];
}

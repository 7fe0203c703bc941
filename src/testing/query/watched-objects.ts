import { resourceRef, type KubeObject } from '../../api/meta.ts';
import type { ObjectKind } from '../../api/page/types.ts';
import type { QueryServerOptions } from '../../query/index.ts';

type Kinds = NonNullable<QueryServerOptions['objects']>['kinds'];

/** The kinds whose objects a query server shows, as if it had watched these objects. */
export function watchedObjects(lists: Partial<Record<ObjectKind, readonly unknown[]>>): Kinds {
  const kind = (name: ObjectKind, namespaced = true): Kinds[ObjectKind] => ({
    resource: resourceRef({
      group: 'svc.dev',
      version: 'v1alpha1',
      kind: name,
      plural: `${name.toLowerCase()}s`,
      namespaced,
    }),
    synced: true,
    list: () => (lists[name] ?? []) as KubeObject[],
  });
  return {
    TrafficMonitor: kind('TrafficMonitor'),
    ClusterTrafficPolicy: kind('ClusterTrafficPolicy'),
    MinterDeployment: kind('MinterDeployment'),
    Node: kind('Node', false),
  };
}

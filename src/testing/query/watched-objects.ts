import { resourceRef, type KubeObject } from '../../api/meta.ts';
import type { ObjectKind } from '../../api/page/types.ts';
import type { QueryServerOptions } from '../../query/index.ts';

type Kinds = NonNullable<QueryServerOptions['objects']>['kinds'];

/** The kinds of objects that a query server shows. It gets the objects in `lists` as if it had watched them. */
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

import { someMeta, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import type { ObjectKind } from '../../api/page/types.ts';
import { clusterTrafficPolicies, minterDeployments, trafficMonitors } from '../../api/v1alpha1/index.ts';
import { coreResources } from '../../kube/index.ts';
import type { Cache, Informer } from '../../runtime/index.ts';

/** The objects of one kind, and the kind's resource in the API. */
export interface WatchedKind {
  readonly resource: ResourceRef;
  readonly synced: boolean;
  list(): readonly KubeObject[];
}

/** The kinds that `/api/v1/objects` shows. Call it before the cache is started. */
export function watchObjects(cache: Cache): Readonly<Record<ObjectKind, WatchedKind>> {
  const of = (resource: ResourceRef, informer: Informer): WatchedKind => ({
    resource,
    get synced() {
      return informer.synced;
    },
    list: () => informer.list(),
  });
  const slim = { transform: { name: 'query-object', apply: withoutManagers } };
  return {
    TrafficMonitor: of(trafficMonitors, cache.informer({ resource: trafficMonitors, ...slim })),
    // Without a transform: the limits of queries need a watch of whole objects of this kind, which is shared here.
    ClusterTrafficPolicy: of(clusterTrafficPolicies, cache.informer({ resource: clusterTrafficPolicies })),
    MinterDeployment: of(minterDeployments, cache.informer({ resource: minterDeployments, ...slim })),
    Node: of(
      coreResources.nodes,
      cache.informer({ resource: coreResources.nodes, transform: { name: 'query-object-node', apply: namedNode } }),
    ),
  };
}

function withoutManagers(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function namedNode({ apiVersion, kind, metadata, status }: KubeObject & { status?: unknown }): KubeObject {
  const kept = someMeta(metadata, 'name', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'labels');
  const { conditions } = (status ?? {}) as { conditions?: unknown };
  return { apiVersion, kind, metadata: kept, status: { conditions } };
}

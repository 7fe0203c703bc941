import type { KubeObject } from '../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicy } from '../api/v1alpha1/index.ts';
import { queryLimits, queryPolicies, type QueryLimits } from '../capture/index.ts';
import type { Cache, Informer } from '../runtime/index.ts';

/** The limits that policies set for queries, as of now. */
export interface LimitSource {
  /** The limits of a caller who may read `namespaces`, or every namespace if that is undefined. */
  of(namespaces: ReadonlySet<string> | undefined): QueryLimits;
}

/**
 * Follows the ClusterTrafficPolicies.
 * Guarantees: a change applies to the next query. The last state is kept while the API server is unreachable.
 * Caveats: until the first list is complete, and in a cluster without the kind, only the server's own flags apply.
 */
export function watchQueryLimits(cache: Cache, namespaces: Informer<KubeObject> | undefined): LimitSource {
  const informer = cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  let policies: ReturnType<typeof queryPolicies> | undefined;
  let known = new Map<string, QueryLimits>();
  const forget = (): void => void (known = new Map());
  informer.onEvent(() => {
    policies = undefined;
    forget();
  });
  namespaces?.onEvent(forget);
  return {
    of(readable) {
      policies ??= queryPolicies(informer.list());
      // Tenants have few distinct sets of namespaces, and a dashboard asks again and again.
      const key = readable === undefined ? '' : [...readable].sort().join(' ');
      let limits = known.get(key);
      if (limits === undefined) {
        const labelled = readable && [...readable].map((name) => ({ name, labels: labelsOf(namespaces, name) }));
        if (known.size >= maxKnown) forget();
        known.set(key, (limits = queryLimits(policies, labelled)));
      }
      return limits;
    },
  };
}

const maxKnown = 1_000;

function labelsOf(namespaces: Informer<KubeObject> | undefined, name: string): Readonly<Record<string, string>> {
  return namespaces?.get({ name })?.metadata.labels ?? {};
}

import { compareUtf8, compileMatcher } from '../../tsdb/index.ts';
import type { Labels, ReadQuery } from '../../tsdb/index.ts';

/** The label that distinguishes clusters for a consumer that reads several. */
export const clusterLabel = 'cluster';

/**
 * Queries without their conditions on the cluster label; undefined in place of a query whose conditions exclude this
 * cluster. With an empty cluster name the queries are returned as they are.
 */
export function clusterQueries(queries: readonly ReadQuery[], cluster: string): (ReadQuery | undefined)[] {
  if (cluster === '') return [...queries];
  return queries.map((query) => {
    const own = query.matchers.filter(({ name }) => name === clusterLabel);
    if (own.some((matcher) => !compileMatcher(matcher).matches(cluster))) return undefined;
    return { ...query, matchers: query.matchers.filter(({ name }) => name !== clusterLabel) };
  });
}

/** The labels plus the cluster's name, if it has one. A label of that name that the series already has is kept. */
export function withCluster(labels: Labels, cluster: string): Labels {
  if (cluster === '' || labels.some(([name]) => name === clusterLabel)) return labels;
  return [...labels, [clusterLabel, cluster] as const].sort(([a], [b]) => compareUtf8(a, b));
}

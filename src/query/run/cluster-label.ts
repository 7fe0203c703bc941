import { compareUtf8, compileMatcher, labelValue } from '../../tsdb/index.ts';
import type { Labels, ReadQuery } from '../../tsdb/index.ts';
import type { ReadSeries } from '../fanout/merge/series-collector.ts';

/**
 * The label that distinguishes clusters for a consumer that reads several clusters. Its value is the series' own, or
 * else the name of this cluster; with an empty name nothing is added, and matchers on the label are ordinary matchers.
 */
export const clusterLabel = 'cluster';

/**
 * Turns a consumer's queries into queries for the agents, whose series lack the name of the cluster. The answer may
 * have more series than the consumer asked for: `ofCluster` filters it.
 */
export function clusterQueries(queries: readonly ReadQuery[], cluster: string): ReadQuery[] {
  if (cluster === '') return [...queries];
  return queries.map((query) => {
    const { matchers } = query;
    const others = matchers.filter(({ name }) => name !== clusterLabel);
    if (conditionOf(query)(cluster)) return { ...query, matchers: others };
    return { ...query, matchers: [...matchers, { type: '!=', name: clusterLabel, value: '' }] };
  });
}

/** The series that meet the consumer's conditions on the label. */
export function ofCluster(series: readonly ReadSeries[], query: ReadQuery, cluster: string): readonly ReadSeries[] {
  if (cluster === '') return series;
  const meets = conditionOf(query);
  return series.filter(({ labels }) => meets(labelValue(labels, clusterLabel) || cluster));
}

/**
 * The labels plus the cluster's name, unless the name is empty. A `cluster` label that the series already has is kept.
 */
export function withCluster(labels: Labels, cluster: string): Labels {
  if (cluster === '' || labels.some(([name]) => name === clusterLabel)) return labels;
  return [...labels, [clusterLabel, cluster] as const].sort(([a], [b]) => compareUtf8(a, b));
}

function conditionOf({ matchers }: ReadQuery): (value: string) => boolean {
  const own = matchers.filter(({ name }) => name === clusterLabel).map(compileMatcher);
  return (value) => own.every((matcher) => matcher.matches(value));
}

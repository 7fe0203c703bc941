import { namespaceLabel, nodeLabel } from '../../../api/labels.ts';

/** The number of series of one metric with a sample in the last five minutes. */
export interface SeriesCount {
  readonly metric: string;
  readonly series: number;
  /** Time of the newest sample, ms since the epoch. */
  readonly lastMs: number;
}

/** One line of the query server's `/federate`. */
export interface FederatedSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly atMs: number;
}

/** The query server's data on the explained objects, or why it could not be queried. */
export type SeriesFacts =
  | { readonly fault: string }
  | {
      readonly fault?: undefined;
      readonly series: readonly FederatedSeries[];
      /** Series of requests on each node. */
      readonly requests: ReadonlyMap<string, number>;
      /** Nodes whose agents did not answer. */
      readonly missingNodes: readonly string[];
    };

/** The metric that reports which config an agent holds, and its phase. */
export const configMetric = 'svc_instrument_config_hash_info';

/** Parses the text format of `/federate`, with a time on each line. Other lines are skipped. Pure. */
export function parseFederated(text: string): FederatedSeries[] {
  return text.split('\n').flatMap((line) => {
    const found = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+ (\d+)$/.exec(line);
    if (!found) return [];
    const labels = [...(found[2] ?? '').matchAll(/([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g)].map(
      ([, name, value]) => [name!, unescaped(value!)] as const,
    );
    return [{ metric: found[1]!, labels: Object.fromEntries(labels), atMs: Number(found[3]) }];
  });
}

function unescaped(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
}

/**
 * Series by name, the most numerous first; buckets, sums and counts of a histogram are listed under the histogram's
 * name. Pure.
 */
export function seriesCounts(series: readonly FederatedSeries[]): SeriesCount[] {
  const groups = Map.groupBy(series, ({ metric }) => metric.replace(/_(bucket|sum|count)$/, ''));
  return [...groups]
    .map(([metric, members]) => ({
      metric,
      series: members.length,
      lastMs: members.reduce((newest, { atMs }) => Math.max(newest, atMs), 0),
    }))
    .toSorted((a, b) => b.series - a.series || (a.metric < b.metric ? -1 : 1));
}

/** The series of the requests of one pod, found by its namespace and name. */
export function seriesOfPod(series: readonly FederatedSeries[], namespace: string, pod: string): FederatedSeries[] {
  return series.filter(
    ({ metric, labels }) =>
      !metric.startsWith('svc_') && labels[namespaceLabel] === namespace && labels['k8s_pod_name'] === pod,
  );
}

/** The flows of one workload, in both directions. */
export function flowsOf(series: readonly FederatedSeries[], namespace: string, owner: string): FederatedSeries[] {
  return series.filter(
    ({ metric, labels }) =>
      metric.startsWith('ebpf_network_') &&
      ['src', 'dst'].some(
        (end) => labels[`k8s_${end}_namespace`] === namespace && labels[`k8s_${end}_owner_name`] === owner,
      ),
  );
}

/** The config that the agent of a node reports, and its phase; undefined without a recent report. */
export function agentConfig(
  series: readonly FederatedSeries[],
  node: string,
): { hash: string; phase: string } | undefined {
  const newest = series
    .filter(({ metric, labels }) => metric === configMetric && labels[nodeLabel] === node)
    .reduce<FederatedSeries | undefined>((last, one) => (last && last.atMs >= one.atMs ? last : one), undefined);
  return newest && { hash: newest.labels['hash'] ?? '', phase: newest.labels['phase'] ?? '' };
}

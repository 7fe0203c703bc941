/** Series with a sample in the last five minutes, of one name. */
export interface SeriesCount {
  readonly metric: string;
  readonly series: number;
  /** Time of the newest sample, ms since the epoch. */
  readonly lastMs: number;
}

/** One line of what the query server federates. */
export interface FederatedSeries {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly atMs: number;
}

/** What the query server knows of the objects that are explained, or why it could not be asked. */
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

/** The series that say which config an agent holds, and how far it is. */
export const configMetric = 'svc_instrument_config_hash_info';

/** Takes the text format that `/federate` answers, with a time on each line. Lines that are none are passed over. Pure. */
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

/** Series by name, the busiest first; buckets, sums and counts of a histogram stand under the histogram's name. Pure. */
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

/** The series of one pod: its requests, by its name. */
export function seriesOfPod(series: readonly FederatedSeries[], namespace: string, pod: string): FederatedSeries[] {
  return series.filter(
    ({ metric, labels }) =>
      !metric.startsWith('svc_') && labels['k8s_namespace_name'] === namespace && labels['k8s_pod_name'] === pod,
  );
}

/** The flows of one workload, at either end. */
export function flowsOf(series: readonly FederatedSeries[], namespace: string, owner: string): FederatedSeries[] {
  return series.filter(
    ({ metric, labels }) =>
      metric.startsWith('ebpf_network_') &&
      ['src', 'dst'].some(
        (end) => labels[`k8s_${end}_namespace`] === namespace && labels[`k8s_${end}_owner_name`] === owner,
      ),
  );
}

/** The config that the agent of a node says it holds, and its phase; undefined where it has not said so lately. */
export function agentConfig(
  series: readonly FederatedSeries[],
  node: string,
): { hash: string; phase: string } | undefined {
  const newest = series
    .filter(({ metric, labels }) => metric === configMetric && labels['k8s_node_name'] === node)
    .reduce<FederatedSeries | undefined>((last, one) => (last && last.atMs >= one.atMs ? last : one), undefined);
  return newest && { hash: newest.labels['hash'] ?? '', phase: newest.labels['phase'] ?? '' };
}

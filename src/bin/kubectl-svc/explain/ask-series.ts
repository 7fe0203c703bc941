import { nodeLabel } from '../../../api/labels.ts';
import { errorText } from '../../../base/errors.ts';
import { anyOf } from '../../../base/text/texts.ts';
import type { PodFacts } from '../../../capture/index.ts';
import { workloadName } from '../../../capture/index.ts';
import type { QueryServer } from '../connect/query-server.ts';
import { messageOf } from '../connect/failures.ts';
import { askVector } from '../connect/prometheus.ts';
import { configMetric, parseFederated, type SeriesFacts } from './series.ts';

/** The pods and nodes whose series are requested. */
export interface Asked {
  readonly pods: readonly PodFacts[];
  readonly nodes: readonly string[];
}

/** One selector names at most this many pods. */
export const maxPods = 50;
/** One request names at most this many nodes. If there are more, it matches all nodes. */
const maxNodes = 50;
/** A path that holds several selectors is at most this long: the query server refuses more than 16 KiB. */
const pathLength = 8 * 1024;

/** A pod has data if it has a sample in this period. The server's own explanation uses the same period. */
const lookback = '5m';

/** Selectors whose newest samples are requested: pods by name, flows by workload, the agents' config metrics. Pure. */
export function selectorsFor({ pods, nodes }: Asked): string[] {
  const byNamespace = Map.groupBy(pods, ({ namespace }) => namespace);
  const groups = [...byNamespace].flatMap(([namespace, members]) =>
    groupsOf(maxPods, members).map((group) => [namespace, group] as const),
  );
  const own = groups.flatMap(([namespace, members]) => {
    const inside = quoted(namespace);
    const names = oneOf(members.map(({ name }) => name));
    const owners = oneOf(members.map(ownerName));
    return [
      `{k8s_namespace_name=${inside},k8s_pod_name=~${names}}`,
      ...['src', 'dst'].map(
        (end) => `{__name__=~"ebpf_network_.+",k8s_${end}_namespace=${inside},k8s_${end}_owner_name=~${owners}}`,
      ),
    ];
  });
  return [...own, `${configMetric}{k8s_node_name=~${nodePattern(nodes)}}`];
}

function groupsOf<T>(size: number, items: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

/** The name of a pod's owner, as the labels of flows name it. */
export function ownerName(pod: PodFacts): string {
  return workloadName(pod, 'Deployment') ?? workloadName(pod, 'CronJob') ?? pod.owner?.name ?? pod.name;
}

const quoted = (text: string): string => JSON.stringify(text);
const oneOf = (texts: readonly string[]): string => quoted(anyOf([...new Set(texts)]));
const nodePattern = (nodes: readonly string[]): string => (nodes.length > maxNodes ? quoted('.+') : oneOf(nodes));

/** The paths that together request all selectors. */
function federatePaths(asked: Asked): string[] {
  const begin = `/federate?${new URLSearchParams({ lookback_delta: lookback })}`;
  const paths: string[] = [];
  let path = begin;
  for (const selector of selectorsFor(asked)) {
    const parameter = `&${new URLSearchParams({ 'match[]': selector })}`;
    if (path !== begin && path.length + parameter.length > pathLength) {
      paths.push(path);
      path = begin;
    }
    path += parameter;
  }
  return [...paths, path];
}

/**
 * Queries the query server that `connect` returns. `fault` has the reason when no data is available. Errors: only those
 * of an aborted `signal`.
 */
export async function askSeries(
  connect: () => Promise<QueryServer>,
  asked: Asked,
  signal: AbortSignal,
): Promise<SeriesFacts> {
  try {
    const server = await connect();
    /** The lines of the answers by name and labels: a flow between two namespaces may be in the answers for both. */
    const lines = new Map<string, string>();
    for (const path of federatePaths(asked)) {
      const { status, text } = await server.request({ path, signal });
      if (status !== 200) return { fault: `${status} ${messageOf(text)}` };
      for (const line of text.split('\n')) lines.set(line.replace(/ \S+ \d+$/, ''), line);
    }
    const query = `count by (k8s_node_name) ({__name__=~"(http|rpc|db|messaging)_.+_count",k8s_node_name=~${nodePattern(asked.nodes)}})`;
    const { data, missingNodes } = await askVector(server, query, signal, lookback);
    const counts = data.result.map(({ metric, value }) => [metric[nodeLabel] ?? '', Number(value?.[1])] as const);
    return { series: parseFederated([...lines.values()].join('\n')), requests: new Map(counts), missingNodes };
  } catch (error) {
    if (signal.aborted) throw error;
    return { fault: errorText(error) };
  }
}

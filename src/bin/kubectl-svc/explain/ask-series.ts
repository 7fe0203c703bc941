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

/** Most pods that one request names. */
export const maxPods = 50;

/** A pod has data if it has a sample in this period. The server's own explanation uses the same period. */
const lookback = '5m';

/** Selectors whose newest samples are requested: pods by name, flows by workload, the agents' config metrics. Pure. */
export function selectorsFor({ pods, nodes }: Asked): string[] {
  const byNamespace = Map.groupBy(pods, ({ namespace }) => namespace);
  const own = [...byNamespace].flatMap(([namespace, members]) => {
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
  return [...own, `${configMetric}{k8s_node_name=~${oneOf(nodes)}}`];
}

/** The name of a pod's owner, as the labels of flows name it. */
export function ownerName(pod: PodFacts): string {
  return workloadName(pod, 'Deployment') ?? workloadName(pod, 'CronJob') ?? pod.owner?.name ?? pod.name;
}

const quoted = (text: string): string => JSON.stringify(text);
const oneOf = (texts: readonly string[]): string => quoted(anyOf([...new Set(texts)]));

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
    const params = new URLSearchParams({ lookback_delta: lookback });
    for (const selector of selectorsFor(asked)) params.append('match[]', selector);
    const federated = await server.request({ path: `/federate?${params}`, signal });
    if (federated.status !== 200) return { fault: `${federated.status} ${messageOf(federated.text)}` };
    const query = `count by (k8s_node_name) ({__name__=~"(http|rpc|db|messaging)_.+_count",k8s_node_name=~${oneOf(asked.nodes)}})`;
    const { data, missingNodes } = await askVector(server, query, signal, lookback);
    const counts = data.result.map(({ metric, value }) => [metric[nodeLabel] ?? '', Number(value?.[1])] as const);
    return { series: parseFederated(federated.text), requests: new Map(counts), missingNodes };
  } catch (error) {
    if (signal.aborted) throw error;
    return { fault: errorText(error) };
  }
}

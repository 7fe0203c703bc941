import { sortedLabels } from '../../src/promql/index.ts';
import { generate, type BenchSeries } from '../promql/data.ts';
import { queries } from '../promql/queries.ts';

/** The node of the benchmark's only agent. */
export const agentNode = 'node-0';

/**
 * The data of bench:promql as the series of one agent, 465 for each node of that data. `k8s_node_name` is the agent's
 * node on all series; the node of the original data is in `instance`, to keep the series apart.
 */
export function oneAgentData(nodes: number): BenchSeries[] {
  return generate(nodes).map(({ labels, values }) => ({
    labels: sortedLabels([
      ...labels.map(([name, value]) => [name === 'k8s_node_name' ? 'instance' : name, value] as const),
      ['k8s_node_name', agentNode],
    ]),
    values,
  }));
}

/** The queries of bench:promql over that data. A node that a query names is replaced if the data does not have it. */
export function oneAgentQueries(nodes: number): Record<string, string> {
  const there = (text: string): string => (nodes > 3 ? text : text.replace('node-3', 'node-0'));
  const changed = (text: string): string => there(text.replaceAll('k8s_node_name', 'instance'));
  return Object.fromEntries(Object.entries(queries).map(([name, text]) => [name, changed(text)]));
}

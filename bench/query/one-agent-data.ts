import { sortedLabels } from '../../src/promql/index.ts';
import { generate, type BenchSeries } from '../promql/data.ts';
import { queries } from '../promql/queries.ts';

/** The node of the one agent. */
export const agentNode = 'node-0';

/**
 * The baseline's data as one agent's own: the node's name, which told its series apart, stands in `instance`, and
 * `k8s_node_name` is that of the agent on all of them. 465 series for each node of the baseline.
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

/** The baseline queries over that data; the node that one of them names is always one of the data. */
export function oneAgentQueries(nodes: number): Record<string, string> {
  const there = (text: string): string => (nodes > 3 ? text : text.replace('node-3', 'node-0'));
  const changed = (text: string): string => there(text.replaceAll('k8s_node_name', 'instance'));
  return Object.fromEntries(Object.entries(queries).map(([name, text]) => [name, changed(text)]));
}

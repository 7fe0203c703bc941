/**
 * One agent with the baseline data, in a process of its own: a store in files on the disk, behind the agents' real
 * handlers. The agent's clock starts one minute after the last sample: the store then keeps the same samples in blocks
 * as the store of a real agent at that time. With `fill` the process writes the store and closes it; otherwise it
 * serves the store.
 */
import { once } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import { startAgentCluster } from '../../src/testing/query/agent-cluster.ts';
import { nodeFiles } from '../../src/tsdb/index.ts';
import { end, interval, start } from '../promql/data.ts';
import type { AgentsStarted } from './agents.ts';
import { agentNode, oneAgentData } from './one-agent-data.ts';

export interface OneAgentWork {
  readonly dir: string;
  /** From how many nodes of the baseline the agent has the series. */
  readonly nodes: number;
  readonly fill: boolean;
}

const [{ dir, nodes, fill }] = (await once(process, 'message')) as [OneAgentWork];
const behind = Date.now() - end - 60_000;
const clock = { ...systemClock, now: () => Date.now() - behind };
const cluster = await startAgentCluster([agentNode], clock, () => nodeFiles, dir);
if (fill) {
  const { store } = cluster.agents[0]!;
  for (const { labels, values } of oneAgentData(nodes)) {
    const series = { labels, slot: -1 };
    values.forEach((value, i) => {
      const result = store.append(series, start + i * interval, value);
      if (result !== 'appended') throw new Error(`sample ${i} of ${JSON.stringify(labels)}: ${result}`);
    });
  }
  await store.commit();
  await store.maintain();
  await cluster.close();
}
const started: AgentsStarted = {
  port: cluster.port,
  agents: cluster.expected,
  tls: cluster.tls.current,
  ca: cluster.ca.cert,
  authority: cluster.ca,
};
process.send!(started);

/**
 * One agent with the baseline data, in a process of its own: its store behind the agents' real handlers, its clock a
 * minute behind the last sample, so that what an agent has written to blocks by then is in blocks.
 */
import { once } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import { startAgentCluster } from '../../src/testing/query/agent-cluster.ts';
import { end, interval, start } from '../promql/data.ts';
import { agentNode, oneAgentData } from './one-agent-data.ts';
import type { ProcessCost } from './server.ts';

const [{ nodes }] = (await once(process, 'message')) as [{ nodes: number }];
const behind = Date.now() - end - 60_000;
const cluster = await startAgentCluster([agentNode], { ...systemClock, now: () => Date.now() - behind });
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
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpuMs: (user + system) / 1000, rss: process.memoryUsage.rss() } satisfies ProcessCost);
});
const { port, expected, tls, ca } = cluster;
process.send!({ port, agents: expected, tls: tls.current, ca: ca.cert });

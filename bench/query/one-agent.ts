/** One agent with the baseline data, in a process of its own: its store behind the agents' real handlers. */
import { once } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import { startAgentCluster } from '../../src/testing/query/agent-cluster.ts';
import { generate, interval, start } from '../promql/data.ts';
import type { ProcessCost } from './server.ts';

await once(process, 'message');
const cluster = await startAgentCluster(['node-0'], systemClock);
for (const { labels, values } of generate(1)) {
  const own = Object.fromEntries(labels);
  values.forEach((value, i) => cluster.append('node-0', own, start + i * interval, value));
}
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpuMs: (user + system) / 1000, rss: process.memoryUsage.rss() } satisfies ProcessCost);
});
const { port, expected, tls, ca } = cluster;
process.send!({ port, agents: expected, tls: tls.current, ca: ca.cert });

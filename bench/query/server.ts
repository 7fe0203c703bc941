/**
 * The query server of the benches, in a process of its own as in a cluster. The first message tells it where the
 * agents are; the answer is the port of the server. Each later message is answered with the process's cost so far.
 */
import { once } from 'node:events';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/logger.ts';
import { readSettings } from '../../src/base/settings.ts';
import { fixedTls } from '../../src/net/tls-material.ts';
import type { TlsMaterial } from '../../src/net/tls-material.ts';
import { querySettingTable, startQueryServer } from '../../src/query/index.ts';
import { fixedDirectory } from '../../src/testing/query/fixed-directory.ts';
import type { ExpectedAgent } from '../../src/query/index.ts';
import { warmUpQueries } from '../../src/query/warm-up.ts';
import { topologyIndex } from './topology-index.ts';

export interface ServerOptions {
  readonly agents: readonly ExpectedAgent[];
  readonly agentPort: number;
  readonly tls: TlsMaterial;
  /** How many pods of the workloads of `topology-data.ts` the server knows by address. Default: none. */
  readonly pods?: number;
  /** The folder of the built page to serve. Default: no page. */
  readonly pageDir?: string;
}

/** CPU time in ms, resident memory in bytes. */
export interface ProcessCost {
  readonly cpuMs: number;
  readonly rss: number;
}

const [{ agents, agentPort, tls, pods = 0, pageDir }] = (await once(process, 'message')) as [ServerOptions];
const flags = {
  namespace: 'svc-system',
  bindAddress: '127.0.0.1',
  port: '0',
  healthPort: '0',
  agentReadPort: String(agentPort),
  agentTimeout: '60s',
};
const settings = readSettings(querySettingTable, { flags, env: {}, prefix: 'SVC_' });
// Warms up before it listens, as `svc query` does.
await warmUpQueries(settings.warmUp, systemClock);
const { port } = await startQueryServer({
  settings,
  clock: systemClock,
  logger: silentLogger,
  directory: fixedDirectory(agents),
  reviews: { reviewToken: async () => undefined, mayAccessPath: async () => false },
  tls: fixedTls(tls),
  version: '0',
  pageDir,
  addresses: { index: topologyIndex(pods), synced: true },
});
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send!({ cpuMs: (user + system) / 1000, rss: process.memoryUsage.rss() } satisfies ProcessCost);
});
process.send!({ port });

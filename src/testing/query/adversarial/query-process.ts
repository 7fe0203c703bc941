import { systemClock } from '../../../base/clock.ts';
import { silentLogger } from '../../../base/logger.ts';
import { readSettings } from '../../../base/settings.ts';
import { fixedTls } from '../../../net/tls-material.ts';
import { startQueryServer } from '../../../query/query-server.ts';
import { querySettingTable } from '../../../query/settings.ts';
import type { QueryStart } from './messages.ts';
import { serveStage } from './serve-stage.ts';

/** A process with a query server, whose agents run in other processes. */
await serveStage(async (input) => {
  const { tls, agents, agentPort, flags } = input as QueryStart;
  const base = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
  const expected = agents.map((agent) => ({ ...agent, absence: undefined, nodeReady: true }));
  const server = await startQueryServer({
    settings: readSettings(querySettingTable, {
      flags: { ...base, agentReadPort: String(agentPort), ...flags },
      env: {},
      prefix: 'SVC_',
    }),
    clock: systemClock,
    logger: silentLogger,
    directory: { agents: () => expected, synced: true, departed: () => [] },
    reviews: { reviewToken: async () => undefined, mayAccessPath: async () => false },
    tls: fixedTls(tls),
    version: '0.0.0',
  });
  return { ports: { api: server.port, health: server.healthPort }, close: () => server.close() };
});

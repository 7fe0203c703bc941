import { systemClock, type Clock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import type { Logger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { querySettingTable, startQueryServer } from '../../query/index.ts';
import type { AgentDirectory, QueryServer, QueryServerOptions } from '../../query/index.ts';
import { startAgentCluster } from './agent-cluster.ts';
import type { AgentCluster } from './agent-cluster.ts';
import type { FileLayer } from '../../tsdb/index.ts';
import { askApi } from './api-client.ts';
import type { ApiAnswer, ApiParams } from './api-client.ts';

export interface QueryStageOptions {
  readonly nodes?: readonly string[];
  /** Settings by key, in addition to those that make the server listen on loopback. */
  readonly flags?: Readonly<Record<string, string>>;
  /** The clock of stores and query servers. Default: the machine's; recorded data needs a clock at its date. */
  readonly clock?: Clock;
  /** The disk of each agent. Default: one in memory. */
  readonly files?: () => FileLayer;
  readonly logger?: Logger;
  /** Nodes that left. Default: none. */
  readonly departed?: AgentDirectory['departed'];
  readonly reviews?: QueryServerOptions['reviews'];
  readonly tenants?: QueryServerOptions['tenants'];
  readonly pageDir?: string;
  readonly limits?: QueryServerOptions['limits'];
  /** The owners of addresses. Default: none. */
  readonly addresses?: QueryServerOptions['addresses'];
  /** Objects of the API server. Default: none. */
  readonly objects?: QueryServerOptions['objects'];
}

/** Agents on loopback, each with a store of its own, and query servers that ask them. */
export interface QueryStage {
  readonly cluster: AgentCluster;
  readonly server: QueryServer;
  ask(path: string, params?: ApiParams, options?: Parameters<typeof askApi>[3]): Promise<ApiAnswer>;
  /** Starts one more query server for the same agents: another replica, or a server with other settings. */
  replica(options?: QueryStageOptions): Promise<QueryServer>;
  close(): Promise<void>;
}

/** Starts the agents and the first server. */
export async function startQueryStage(options: QueryStageOptions = {}): Promise<QueryStage> {
  const { clock = systemClock } = options;
  const cluster = await startAgentCluster(options.nodes ?? ['node-1', 'node-2', 'node-3'], clock, options.files);
  const servers: QueryServer[] = [];
  const replica = async (more: QueryStageOptions = {}): Promise<QueryServer> => {
    const {
      flags,
      logger = silentLogger,
      tenants,
      pageDir,
      limits,
      addresses,
      objects,
      reviews = noReviews,
      departed = () => [],
    } = { ...options, ...more };
    const base = { namespace: 'svc-system', bindAddress: '127.0.0.1', port: '0', healthPort: '0' };
    const own = { agentReadPort: String(cluster.port), ...flags };
    const server = await startQueryServer({
      settings: readSettings(querySettingTable, { flags: { ...base, ...own }, env: {}, prefix: 'SVC_' }),
      clock,
      logger,
      directory: { agents: () => cluster.expected, synced: true, departed },
      reviews,
      tls: cluster.tls,
      version: '0.0.0',
      pageDir,
      ...(tenants ? { tenants } : {}),
      ...(limits ? { limits } : {}),
      addresses,
      objects,
    });
    servers.push(server);
    return server;
  };
  const server = await replica();
  return {
    cluster,
    server,
    replica,
    ask: (path, params, more) => askApi({ port: server.port, ca: cluster.ca.cert }, path, params, more),
    close: async () => {
      await Promise.all(servers.map((one) => one.close()));
      await cluster.close();
    },
  };
}

const noReviews: QueryServerOptions['reviews'] = {
  reviewToken: async () => undefined,
  mayAccessPath: async () => false,
};

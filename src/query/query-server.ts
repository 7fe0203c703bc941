import { createServer } from 'node:http';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { createTlsServer } from '../net/https-server.ts';
import { closeServer, listen } from '../net/listen.ts';
import { TlsClient } from '../net/tls-client.ts';
import type { TlsSource } from '../net/tls-material.ts';
import { TokenAuth } from '../net/token-auth.ts';
import type { ReviewClient } from '../net/token-auth.ts';
import { Engine } from '../promql/index.ts';
import type { AgentDirectory } from './agents/directory.ts';
import { createApp } from './api/app.ts';
import { QueryRunner } from './api/query-runner.ts';
import { createAgentReader } from './fanout/agent-reader.ts';
import type { AgentReader } from './fanout/agent-reader.ts';
import { healthHandler } from './health.ts';
import { QueryMetrics } from './metrics.ts';
import type { QuerySettings } from './settings.ts';

/** Requests in flight get this long when the server stops. */
const graceMs = 5_000;

export interface QueryServerOptions {
  readonly settings: QuerySettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly directory: AgentDirectory;
  readonly reviews: ReviewClient;
  readonly tls: TlsSource;
  readonly version: string;
  /** Folder of the built query page. */
  readonly pageDir?: string | undefined;
  /** How agents are read; default stock remote read over mutual TLS. */
  readonly reader?: AgentReader;
}

export interface QueryServer {
  readonly port: number;
  readonly healthPort: number;
  close(): Promise<void>;
}

/**
 * Starts both listeners.
 * Errors: ERR_LISTEN `query listen <address>:<port>: <reason>` (or `query-health …`); then nothing is left open.
 */
export async function startQueryServer(options: QueryServerOptions): Promise<QueryServer> {
  const { settings, clock, logger, directory, tls } = options;
  const client = new TlsClient(tls);
  const servername = `svc-agent.${settings.namespace}.svc`;
  const runner = new QueryRunner({
    directory,
    clock,
    reader: options.reader ?? createAgentReader(client, settings.agentReadPort, servername),
    engine: new Engine({
      lookbackDeltaMs: settings.lookbackDelta,
      maxSamples: settings.maxSamples,
      timeoutMs: settings.queryTimeout,
      monotonic: () => clock.monotonic(),
      experimentalFunctions: true,
    }),
    agentTimeoutMs: settings.agentTimeout,
    queryTimeoutMs: settings.queryTimeout,
    maxSamples: settings.maxSamples,
    maxConcurrency: settings.maxConcurrency,
  });
  const metrics = new QueryMetrics({
    missingAgents: () => directory.agents().filter((agent) => agent.address === undefined).length,
    running: () => runner.running,
  });
  const ready = (): boolean => directory.synced;
  const stop = new AbortController();
  const auth = new TokenAuth({ reviews: options.reviews, clock, loopbackExempt: settings.loopbackExempt });
  const { version, pageDir } = options;
  const app = createApp({
    runner,
    clock,
    settings,
    version,
    auth,
    logger,
    metrics,
    ready,
    stopping: stop.signal,
    pageDir,
  });
  const server = createTlsServer(tls, (req, res) => void app(req, res));
  const health = createServer(healthHandler(ready, metrics.registry));
  const close = async (): Promise<void> => {
    await Promise.all([closeServer(server, graceMs), closeServer(health, graceMs)]);
    stop.abort(new Error('server is stopping'));
    client.close();
  };
  try {
    const healthPort = await listen('query-health', health, { host: settings.bindAddress, port: settings.healthPort });
    const port = await listen('query', server, { host: settings.bindAddress, port: settings.port });
    logger.info('query: listening', { address: settings.bindAddress, port, healthPort });
    return { port, healthPort, close };
  } catch (error) {
    await close();
    throw error;
  }
}

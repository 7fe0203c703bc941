import type { Registry } from 'prom-client';
import type { Clock } from '../base/clock.ts';
import type { NamedLabels } from '../capture/index.ts';
import { OperatorError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { defaultPoolBytes } from '../base/memory-pool.ts';
import { fairPlaces, Gate } from '../base/turns/gate.ts';
import { createApiServer } from '../net/https-server.ts';
import { attendedTimer, eventLoopBusyMs } from '../net/attended-timer.ts';
import { untilQuiet } from '../net/drain.ts';
import { createHttpServer, expressHandler, httpServerMetrics, probeLimits } from '../net/http/index.ts';
import { boundAddress, closeServer, listen } from '../net/listen.ts';
import { NamespaceAccess, type NamespaceAccessOptions } from '../net/auth/namespace-access.ts';
import { refuseScrape } from '../net/auth/scrape-right.ts';
import { TlsClient } from '../net/tls-client.ts';
import type { TlsSource } from '../net/tls-material.ts';
import { type ReviewClient, TokenAuth } from '../net/auth/token-auth.ts';
import { Engine } from '../promql/index.ts';
import { Health, probeHandler } from '../runtime/index.ts';
import { AddressIndex } from './addresses/address-index.ts';
import type { Addresses } from './addresses/watch-addresses.ts';
import { AgentClocks } from './agents/agent-clocks.ts';
import { type AgentDirectory, agentNames } from './agents/directory.ts';
import { refusalForm } from './api/api-error.ts';
import { createApp } from './api/app.ts';
import { requestBodies } from './api/request-body.ts';
import { createAgentAsker } from './fanout/ask-agents.ts';
import { type AgentReader, createAgentReader } from './fanout/readers/agent-reader.ts';
import { createIndexReader } from './fanout/readers/index-reader.ts';
import { createPartialReader } from './fanout/readers/partial-reader.ts';
import { noActiveQueries, openActiveQueries } from './log/active-queries.ts';
import { noQueryLog, openQueryLog } from './log/query-log.ts';
import { createHttpStore } from './long-term/http-store.ts';
import { hideStoreLabels, parseStoreLabels } from './long-term/store-labels.ts';
import { createQueryMetrics } from './metrics.ts';
import { ObjectAccess, type ObjectAccessOptions } from './objects/object-access.ts';
import type { LimitSource } from './policy-limits.ts';
import { QueryRunner } from './run/query-runner.ts';
import type { RunnerOptions } from './run/runner-options.ts';
import type { QuerySettings } from './settings.ts';
import { createAgentStreamReader } from './stream/agent-stream.ts';
import { createStreamMetrics } from './stream/metrics.ts';
import { StreamRelay } from './stream/relay.ts';

/** Grace period for requests in flight when the server stops. */
const graceMs = 5_000;
/** Assumed size of a container without a memory limit: the Deployment's default. Bytes. */
const unlimitedContainerBytes = 2 * 1024 ** 3;
/** Remote reads that run at a time. Source: Prometheus' `storage.remote.read-concurrent-limit`. */
const concurrentReads = 10;
/** How long a client may stop reading a stream, for example while a user pages through it. Units: ms. */
const readerStalledMs = 600_000;

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
  /** The namespaces, and the reviews of who may see them; needed with the setting `tenancy`. */
  readonly tenants?: Pick<NamespaceAccessOptions, 'reviews' | 'namespaces'>;
  /** Limits that policies set for queries. Default: none. */
  readonly limits?: LimitSource;
  /** The owners of the cluster's addresses. Default: the ends of spans and flows stay as agents name them. */
  readonly addresses?: Addresses | undefined;
  /** Objects of the API server for callers that may see them. Default: none. */
  readonly objects?:
    | (Pick<ObjectAccessOptions, 'kinds' | 'reviews' | 'namespaces'> & {
        readonly labelledNamespaces: () => readonly NamedLabels[];
      })
    | undefined;
  /** Reads the agents. Default: Prometheus' remote read over mutual TLS. */
  readonly reader?: AgentReader;
}

export interface QueryServer {
  readonly port: number;
  readonly runner: QueryRunner;
  readonly registry: Registry;
  readonly healthPort: number;
  /** The checks of `/readyz`, for further parts of the process. */
  readonly readiness: Pick<Health, 'add'>;
  /** Makes the server not ready; resolves when no more connections arrive. Units: ms. */
  drain(quietMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the listeners of the API and of the probes.
 * Errors: ERR_LISTEN `query listen <address>:<port>: <reason>` (or `query-health …`); then nothing is left open.
 */
export async function startQueryServer(options: QueryServerOptions): Promise<QueryServer> {
  const { settings, clock, logger, directory, tls } = options;
  const client = new TlsClient(tls, attendedTimer({ clock, busyMs: eventLoopBusyMs }));
  const nameOf = agentNames(settings.namespace);
  const way = { client, port: settings.agentReadPort, nameOf };
  const engineOptions = {
    lookbackDeltaMs: settings.lookbackDelta,
    maxSamples: settings.maxSamples,
    timeoutMs: settings.queryTimeout,
    monotonic: () => clock.monotonic(),
    experimentalFunctions: true,
  };
  const agentClocks = new AgentClocks(clock);
  const runner = new QueryRunner({
    directory,
    clock,
    reader: options.reader ?? createAgentReader(way),
    partialReader: options.reader ? undefined : createPartialReader(way, agentClocks),
    indexReader: options.reader ? undefined : createIndexReader(way),
    asker: options.reader ? undefined : createAgentAsker(way),
    pushdown: settings.pushdown,
    onExecuted: (report, lost) => metrics.executed(report, lost),
    engine: new Engine(engineOptions),
    agentTimeoutMs: settings.agentTimeout,
    queryTimeoutMs: settings.queryTimeout,
    maxSamples: settings.maxSamples,
    maxConcurrency: settings.maxConcurrency,
    memoryBytes: settings.queryMemory || defaultPoolBytes(process.constrainedMemory(), unlimitedContainerBytes),
    limits: options.limits,
    longTerm: longTermOf(settings, clock),
  });
  const metrics = createQueryMetrics({
    missingAgents: () => directory.agents().filter((agent) => agent.address === undefined).length,
    departedNodes: () => directory.departed?.().length ?? 0,
    running: () => runner.running,
    heldBytes: () => runner.heldBytes,
    memoryRestarts: () => runner.memoryRestarts,
  });
  let draining = false;
  const ready = (): boolean => directory.synced && !draining;
  const stop = new AbortController();
  const loopbackExempt = settings.loopbackExempt && !settings.tenancy;
  const auth = new TokenAuth({ reviews: options.reviews, clock, logger, loopbackExempt });
  const { version, pageDir, tenants } = options;
  if (settings.tenancy && tenants === undefined) {
    throw new OperatorError('ERR_INPUT_INVALID', '--tenancy: there is no API server to ask about namespaces');
  }
  const active =
    settings.activeQueriesFile === ''
      ? noActiveQueries
      : openActiveQueries(settings.activeQueriesFile, 2 * settings.maxConcurrency, logger);
  const { queryLogFile, queryLogMaxBytes: maxBytes } = settings;
  const log = queryLogFile === '' ? noQueryLog : openQueryLog(queryLogFile, { maxBytes, clock, logger });
  const followers = new TlsClient(tls);
  const relay = new StreamRelay({
    directory,
    read: createAgentStreamReader({ followers, others: client }, clock, settings.agentStreamPort, nameOf),
    clock,
    logger,
    metrics: createStreamMetrics(metrics.registry),
    agentTimeoutMs: settings.agentTimeout,
    maxClients: settings.streamMaxClients,
    addresses: options.addresses?.index,
  });
  const appDeps = {
    runner,
    clock,
    settings,
    version,
    auth,
    access: settings.tenancy && tenants ? new NamespaceAccess({ ...tenants, clock }) : undefined,
    logger,
    metrics,
    ready,
    stopping: stop.signal,
    pageDir,
    active,
    reads: new Gate(concurrentReads, fairPlaces),
    log,
    bodyOf: requestBodies(),
    relay,
    agentClocks,
    objects: options.objects && {
      kinds: options.objects.kinds,
      access: new ObjectAccess({ ...options.objects, clock }),
      namespaces: options.objects.labelledNamespaces,
    },
    addresses: options.addresses?.index ?? new AddressIndex(),
    startedAt: clock.now(),
  };
  const http1 = expressHandler(createApp(appDeps, 'http1'));
  const http2 = expressHandler(createApp(appDeps, 'http2'));
  const door = { logger, metrics: httpServerMetrics(metrics.registry, 'svc_query') };
  const server = createApiServer(tls, (req, res) => (req.httpVersionMajor >= 2 ? http2 : http1)(req, res), {
    ...door,
    name: 'query',
    form: refusalForm,
    limits: { stalledMs: readerStalledMs, reservedPaths: ['/-/healthy', '/-/ready'] },
  });
  const readiness = new Health();
  readiness.add('agents', () => {
    if (!ready()) throw new Error('agents are not listed yet');
  });
  const probes = probeHandler({
    liveness: new Health(),
    readiness,
    metricsText: () => metrics.registry.metrics(),
    refuseScrape: (req, res) => refuseScrape(auth, req, res),
  });
  const health = createHttpServer(probes, { ...door, name: 'query-health', limits: probeLimits });
  const drain = (quietMs: number): Promise<void> => {
    draining = true;
    return untilQuiet([server], { clock, quietMs });
  };
  const close = async (): Promise<void> => {
    relay.close();
    await Promise.all([closeServer(server, graceMs), closeServer(health, graceMs)]);
    stop.abort(new Error('server is stopping'));
    client.close();
    followers.close();
    active.close();
  };
  try {
    const healthPort = await listen('query-health', health, { host: settings.bindAddress, port: settings.healthPort });
    const port = await listen('query', server, { host: settings.bindAddress, port: settings.port });
    logger.info('query: listening', { address: boundAddress(server), port, healthPort });
    return { port, healthPort, readiness, runner, registry: metrics.registry, drain, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function longTermOf(settings: QuerySettings, clock: Clock): RunnerOptions['longTerm'] {
  const { longTermUrl: url, longTermApi: api, longTermTenant: tenant } = settings;
  if (url === '') return undefined;
  const { longTermTokenFile: tokenFile, longTermCaFile: caFile } = settings;
  const store = createHttpStore({ url, api, tokenFile, caFile, tenant, clock });
  return {
    store: hideStoreLabels(store, parseStoreLabels(settings.longTermLabels)),
    afterMs: settings.longTermAfter,
  };
}

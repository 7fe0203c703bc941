import type { Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { readBuildInfo } from '../base/build-info.ts';
import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { AgentStatus } from '../capture/index.ts';
import { ApiReviews, createKubeClient, type KubeClient } from '../kube/index.ts';
import { expiryTime } from '../net/ca.ts';
import { createAlpnServer } from '../net/alpn-server.ts';
import { createTlsServer, peerName } from '../net/https-server.ts';
import { closeServer, listen } from '../net/listen.ts';
import { type TlsSource, watchTlsDirectory } from '../net/tls-material.ts';
import { type ReviewClient, TokenAuth } from '../net/token-auth.ts';
import { createRemoteReadHandler, labelsFromObject } from '../tsdb/index.ts';
import { CaptureState } from './capture/capture-state.ts';
import { InstrumentMemory } from './capture/instrument-memory.ts';
import { type HealthProbe } from './capture/health-socket.ts';
import { captureFacts } from './capture/capture-facts.ts';
import { probeFor } from './capture/instrument-probe.ts';
import { ObstacleWatch } from './capture/obstacles.ts';
import { followRetention } from './follow-retention.ts';
import { openDataDir } from './open-data-dir.ts';
import { startConfig } from './capture/start-config.ts';
import { Exports } from './export/exports.ts';
import { seriesMeta } from './export/series-meta.ts';
import { teeStore } from './export/tee-store.ts';
import { Identity } from './identity/identity.ts';
import { watchPods } from './identity/watch-pods.ts';
import { Ingest } from './ingest/ingest.ts';
import { SeriesMapper } from './mapping/mapper.ts';
import { defaultPolicy, policyOf } from './mapping/policy.ts';
import { closeGrpc, createGrpcReceiver, listenGrpc } from './otlp/grpc-receiver.ts';
import type { OtlpConsumer } from './otlp/consumer.ts';
import { createHttpReceiver } from './otlp/http-receiver.ts';
import { createSelfMetrics, showConfig, type SelfMetrics } from './self-metrics.ts';
import { agentPage } from './servers/agent-page.ts';
import { captureHandler } from './servers/capture-server.ts';
import { createIndexHandler } from './partial/index-handler.ts';
import { createPartialHandler } from './partial/partial-handler.ts';
import { detailsHandler } from './servers/details-server.ts';
import { indexHandler, partialHandler } from './servers/framed-server.ts';
import { remoteReadHandler } from './servers/remote-read-server.ts';
import { createScrapeServer } from './servers/scrape-server.ts';
import { storeAdminHandler } from './servers/store-admin-server.ts';
import { createStreamGrpc } from './servers/stream-grpc.ts';
import { streamHandler } from './servers/stream-server.ts';
import type { StreamOptions } from './servers/stream-service.ts';
import type { AgentSettings } from './settings.ts';
import { SpanPipeline } from './spans/span-pipeline.ts';
import { FlowIntake } from './spans/flow-intake.ts';
import { StreamRing } from './spans/stream-ring.ts';

export interface AgentDeps {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The API server, for the pods of this node and for reviews; null for none. Default: that of the environment. */
  readonly kube?: KubeClient | null;
  /** TokenReview and SubjectAccessReview. Default: the cluster of the environment. */
  readonly reviews?: ReviewClient;
  /** The instrument's health. Default: its socket. */
  readonly probe?: HealthProbe;
  /** Told the bound ports once everything listens; of use when a setting was port 0. */
  readonly onReady?: (ports: AgentPorts) => void;
}

export interface AgentPorts {
  readonly otlpGrpc: number;
  readonly otlpHttp: number;
  readonly scrape: number;
  /** 0 where the mutual-TLS listeners are off. */
  readonly remoteRead: number;
  readonly spanStream: number;
  readonly captureConfig: number;
}

/** Common names of the certificates that may call the agent. */
const readers = ['svc-query', 'svc-controller'];
const controllers = ['svc-controller'];
/** Memory that the span ring may take, whatever the policy's retention allows. Units: bytes. */
const spanMemoryCap = 64 * 1024 * 1024;
const closeGraceMs = 3_000;

/**
 * The agent of one node, from its store to its listeners.
 *
 * Flow: store → start config (last good, else seed) → OTLP receivers → scrape → remote read, spans, capture config.
 * Guarantees: resolves after `signal` aborted and everything taken in is durable and closed.
 * Errors: ERR_LISTEN `<listener> listen <address>:<port>: <reason>`, ERR_TLS_MATERIAL, ERR_STORE_*; what was
 * started by then is closed again.
 */
export async function runAgent(settings: AgentSettings, deps: AgentDeps): Promise<void> {
  const { logger, clock, signal } = deps;
  if (settings.hostNetwork && settings.loopbackExempt) {
    logger.warn('on the host network every process of the node scrapes without a token: set --loopback-exempt=false');
  }
  const closers: (() => Promise<void>)[] = [];
  const listeners: (() => Promise<void>)[] = [];
  const stop = new AbortController();
  try {
    const version = readBuildInfo(process.env).version;
    const metrics = createSelfMetrics({ node: settings.nodeName, version });
    const store = await openDataDir(settings.dataDir, {
      dir: join(settings.dataDir, 'store'),
      clock,
      logger,
      externalLabels: labelsFromObject({ k8s_node_name: settings.nodeName }),
      retentionMs: settings.retentionTime,
      retentionBytes: settings.retentionSize,
    });
    closers.push(() => store.close());

    const kube = deps.kube === undefined ? clusterClient(clock, logger) : deps.kube;
    const identity = new Identity();
    if (kube) {
      watchPods({ node: settings.nodeName, client: kube, clock, logger, pods: identity.pods, signal: stop.signal });
    }
    const mapper = new SeriesMapper(defaultPolicy(settings.nodeName), identity);
    const exports = new Exports({
      dir: join(settings.dataDir, 'export'),
      maxBytes: settings.exportQueueSize,
      node: settings.nodeName,
      version,
      clock,
      logger,
      registry: metrics.registry,
      metaOf: (name) => seriesMeta(mapper.table.families, name),
    });
    closers.push(() => exports.close());
    const ring = new StreamRing({ maxBytes: spanMemoryCap, maxAgeMs: 15 * 60_000 });
    const spans = new SpanPipeline({
      ring,
      clock,
      identity,
      onSpan: (record, startNs) => exports.span(record, startNs),
      onDropped: (reason, count) => metrics.spansDropped.inc({ reason }, count),
      onUnknown: (count) => metrics.metadataMissing.inc({ kind: 'span' }, count),
    });
    const ingest = new Ingest({
      mapper,
      store: teeStore(store, exports),
      metrics,
      clock,
      logger,
      spans,
      refreshSelf: () => showConfig(metrics, capture.ack),
    });
    closers.push(() => ingest.close());
    const retain = followRetention(store, settings, logger);
    const instrumentMemory = new InstrumentMemory();
    const capture: CaptureState = new CaptureState({
      node: settings.nodeName,
      dataDir: settings.dataDir,
      instrumentFile: settings.instrumentConfig,
      probe: deps.probe ?? probeFor(settings),
      clock,
      logger,
      onConfig: (config) => {
        ingest.setPolicy(policyOf(settings.nodeName, config));
        spans.setConfig(config);
        retain(config);
        exports.setConfig(config);
        const { timeMs, sizeBytes } = config.retention.spans;
        ring.setLimits({ maxBytes: Math.min(sizeBytes, spanMemoryCap), maxAgeMs: timeMs }, clock.now());
      },
      counts: () => countsOf(mapper, ingest, spans, exports, obstacles),
    });
    const obstacles: ObstacleWatch = new ObstacleWatch({
      clock,
      logger,
      monitors: () => mapper.limits.monitors,
      facts: (idle) => captureFacts(idle, { settings, clock, mapper, identity, capture }),
    });
    closers.push(() => Promise.resolve(obstacles.stop()));
    closers.push(() => Promise.resolve(capture.stop()));
    const start = await startConfig(settings, logger);
    await capture.apply(start.config, start.source);

    const bind = async (name: string, server: NetServer, host: string, port: number): Promise<number> => {
      const bound = await listen(name, server, { host, port });
      listeners.push(() => closeServer(server, closeGraceMs));
      logger.info('listening', { listener: name, address: host, port: bound });
      return bound;
    };

    const consumer = withFlows(ingest, new FlowIntake(ring, clock));
    const grpc = createGrpcReceiver({ consumer, logger });
    const otlpGrpc = await listenGrpc('otlp-grpc', grpc, {
      host: settings.otlpBindAddress,
      port: settings.otlpGrpcPort,
    });
    listeners.push(() => closeGrpc(grpc, closeGraceMs));
    const otlpHttp = await bind(
      'otlp-http',
      createHttpReceiver({ consumer, logger }),
      settings.otlpBindAddress,
      settings.otlpHttpPort,
    );

    let ready = false;
    const auth = new TokenAuth({
      reviews: deps.reviews ?? (kube ? new ApiReviews(kube) : noReviews),
      clock,
      loopbackExempt: settings.loopbackExempt,
    });
    const scrape = await bind(
      'scrape',
      createScrapeServer({
        exposition: (format) => agentPage(format, { mapper, metrics, store, capture, memory: instrumentMemory }),
        auth,
        notReady: () => (ready ? null : 'starting'),
        instrumentMayLive: () => capture.instrumentMayLive,
        logger,
      }),
      settings.bindAddress,
      settings.scrapePort,
    );

    let remoteRead = 0;
    let spanStream = 0;
    let captureConfig = 0;
    if (settings.tlsDir === '') logger.warn('no TLS directory: remote read, span stream and capture config are off');
    else {
      const tls = await watchTlsDirectory(settings.tlsDir, { clock, logger, signal: stop.signal });
      followExpiry(tls, metrics);
      const partition = { label: 'k8s_node_name', value: settings.nodeName };
      const read = storeAdminHandler(
        { store, allowed: (req) => controllers.includes(peerName(req) ?? ''), logger },
        partialHandler(
          { handler: createPartialHandler({ store, node: settings.nodeName, clock }), metrics, logger },
          indexHandler(
            { handler: createIndexHandler({ store, node: settings.nodeName, clock }), metrics, logger },
            detailsHandler(
              { exemplars: mapper.exemplars, families: () => mapper.table.families.values(), partition, logger },
              remoteReadHandler({ handler: createRemoteReadHandler(store, { partition }), metrics, logger }),
            ),
          ),
        ),
      );
      const stream: StreamOptions = {
        node: settings.nodeName,
        podLabels: (namespace, name) => identity.pods.named(namespace, name)?.labels,
        ring,
        clock,
        logger,
        signal: stop.signal,
        onClients: (change) => metrics.streamClients.inc(change),
        onLost: (count) => metrics.streamLost.inc(count),
      };
      const streamGrpc = createStreamGrpc(stream);
      const { bindAddress: host } = settings;
      const tlsServer = (handler: Parameters<typeof createTlsServer>[1], clientNames: readonly string[]): NetServer =>
        createTlsServer(tls, handler, { clientNames });
      remoteRead = await bind('remote-read', tlsServer(read, readers), host, settings.remoteReadPort);
      spanStream = await bind(
        'span-stream',
        createAlpnServer(tls, streamHandler(stream), { clientNames: readers, onHttp2: streamGrpc.accept }),
        host,
        settings.spanStreamPort,
      );
      listeners.push(() => streamGrpc.close(closeGraceMs));
      captureConfig = await bind(
        'capture-config',
        tlsServer(
          captureHandler(capture, { logger, onSecrets: (secrets) => exports.setSecrets(secrets) }),
          controllers,
        ),
        host,
        settings.captureConfigPort,
      );
    }

    capture.start();
    obstacles.start();
    await ingest.process();
    ingest.start();
    ready = true;
    logger.info('agent started', { node: settings.nodeName, podIp: settings.podIp, version });
    deps.onReady?.({ otlpGrpc, otlpHttp, scrape, remoteRead, spanStream, captureConfig });
    await aborted(signal);
  } finally {
    stop.abort();
    // The listeners together, then what they fed, last opened first.
    await Promise.all(listeners.map((close) => closeOne(close, logger)));
    for (const close of closers.reverse()) await closeOne(close, logger);
  }
}

/** Flow points also become items of the stream, at once: the store waits for its group, a follower need not. */
function withFlows(ingest: OtlpConsumer, flows: FlowIntake): OtlpConsumer {
  return {
    metrics: (request, bytes) => {
      flows.take(request);
      return ingest.metrics(request, bytes);
    },
    traces: (request, bytes) => ingest.traces(request, bytes),
    rejected: (reason, count) => ingest.rejected(reason, count),
  };
}

/** What fails to close does not keep the others from it. */
async function closeOne(close: () => Promise<void>, logger: Logger): Promise<void> {
  await close().catch((error: unknown) => logger.error('close failed', { error: errorText(error) }));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function countsOf(
  mapper: SeriesMapper,
  ingest: Ingest,
  spans: SpanPipeline,
  exports: Exports,
  obstacles: ObstacleWatch,
): Pick<AgentStatus, 'monitors' | 'totals' | 'exports' | 'secrets'> {
  return {
    monitors: mapper.limits.monitors.map(({ rule, activeSeries, droppedSeries, lastSampleMs }, i) => ({
      namespace: rule.namespace,
      name: rule.name,
      activeSeries,
      droppedSeries,
      ...(spans.monitors[i]?.dropped ? { droppedSpans: spans.monitors[i].dropped } : {}),
      ...(lastSampleMs === 0 ? {} : { lastSampleTime: new Date(lastSampleMs).toISOString() }),
      ...obstacles.of(rule),
    })),
    exports: exports.statuses(),
    ...(exports.secretsRevision === '' ? {} : { secrets: exports.secretsRevision }),
    totals: { series: mapper.table.size, ...ingest.totals },
  };
}

function followExpiry(tls: TlsSource, metrics: SelfMetrics): void {
  const note = (): void => metrics.certExpiry.set(expiryTime({ cert: tls.current.cert }) / 1_000);
  note();
  tls.onChange(note);
}

/** The cluster of the environment; outside of one null, with a word in the log. */
function clusterClient(clock: Clock, logger: Logger): KubeClient | null {
  try {
    return createKubeClient({ clock, userAgent: 'svc-agent' });
  } catch (error) {
    logger.warn('no cluster: only loopback may scrape, and pods are known by what the instrument says', {
      error: errorText(error),
    });
    return null;
  }
}

/** Outside a cluster every token is answered with "try again". */
const noReviews: ReviewClient = {
  reviewToken: () => Promise.reject(new Error('no cluster to review tokens with')),
  mayAccessPath: () => Promise.reject(new Error('no cluster to review tokens with')),
};

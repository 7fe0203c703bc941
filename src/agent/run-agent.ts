import type { Server as NetServer } from 'node:net';
import { join } from 'node:path';
import { readBuildInfo } from '../base/build-info.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { defaultPoolBytes, MemoryPool } from '../base/memory-pool.ts';
import { builtinRetention, largestSpanRing, type AgentStatus } from '../capture/index.ts';
import { ApiReviews, createKubeClient, type RestClient } from '../kube/index.ts';
import { expiryTime } from '../net/ca.ts';
import { createAlpnServer } from '../net/alpn-server.ts';
import { codeForm, type DoorOptions, httpServerMetrics, type HttpHandler, probeLimits } from '../net/http/index.ts';
import { createTlsServer, peerName } from '../net/https-server.ts';
import { closeGrpc, listenGrpc } from '../net/grpc-server.ts';
import { closeServer, listen } from '../net/listen.ts';
import type { TlsSource } from '../net/tls-material.ts';
import { type ReviewClient, TokenAuth } from '../net/token-auth.ts';
import { createRemoteReadHandler, labelsFromObject } from '../tsdb/index.ts';
import { CaptureState } from './capture/capture-state.ts';
import type { NodeCertificate } from './certificate/node-certificate.ts';
import { openIdentity } from './certificate/open-identity.ts';
import { captureFacts } from './capture/capture-facts.ts';
import { instrumentProbe, type InstrumentProbe } from './capture/instrument-probe.ts';
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
import { createGrpcReceiver } from './otlp/grpc-receiver.ts';
import type { OtlpConsumer } from './otlp/consumer.ts';
import { createHttpReceiver } from './otlp/http-receiver.ts';
import { refreshMetrics } from './refresh-metrics.ts';
import { createSelfMetrics, type SelfMetrics } from './self-metrics.ts';
import { agentPage } from './servers/agent-page.ts';
import { captureHandler } from './servers/capture-server.ts';
import { certificateHandler } from './servers/certificate-server.ts';
import { createIndexHandler } from './partial/index-handler.ts';
import { createPartialHandler } from './partial/partial-handler.ts';
import { detailsHandler } from './servers/details-server.ts';
import { indexHandler, partialHandler } from './servers/framed-server.ts';
import { remoteReadHandler } from './servers/remote-read-server.ts';
import { createScrapeServer, type ScrapeOptions } from './servers/scrape-server.ts';
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
  /**
   * The API server, for the pods of this node and for reviews; null for none. Default: the cluster of the environment.
   */
  readonly kube?: RestClient | null;
  /** TokenReview and SubjectAccessReview. Default: the cluster of the environment. */
  readonly reviews?: ReviewClient;
  /** How the state of the instrument is read. Default: from its supervisor and its health socket. */
  readonly probe?: InstrumentProbe;
  /** Called with the bound ports once everything listens; of use when a setting was port 0. */
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
const closeGraceMs = 3_000;
/** The memory limit assumed for a container without one: that of the DaemonSet. Bytes. */
const unlimitedContainerBytes = 1024 ** 3;
/** A reader of the stream may pause this long, since one behind the query server may pause too. Units: ms. */
const readerStalledMs = 600_000;
/**
 * How long the OTLP receivers wait for the pods of the node. A refused sender retries and its counters go on, but
 * samples that are taken in without the pods are stored without a namespace. Units: ms.
 */
const podWaitMs = 5_000;

/**
 * The agent of one node, from its store to its listeners.
 *
 * Flow: scrape and probes, which report what it waits for → store → start config (last good, else seed) → OTLP
 * receivers → remote read, spans, capture config.
 * Guarantees: resolves after `signal` aborted and everything taken in is durable and closed.
 * Errors: ERR_LISTEN `<listener> listen <address>:<port>: <reason>`, ERR_TLS_MATERIAL, ERR_STORE_*; parts that had
 * started are closed again.
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
    metrics.instrumentInfo.set({ version: settings.instrumentVersion }, 1);
    const bind = async (name: string, server: NetServer, host: string, port: number): Promise<number> => {
      const bound = await listen(name, server, { host, port });
      listeners.push(() => closeServer(server, closeGraceMs));
      logger.info('listening', { listener: name, address: host, port: bound });
      return bound;
    };

    const serverMetrics = httpServerMetrics(metrics.registry, 'svc_agent');
    const door = (name: string): DoorOptions => ({ name, logger, metrics: serverMetrics });

    const kube = deps.kube === undefined ? clusterClient(clock, logger) : deps.kube;
    /** The step that the agent still has to finish before it is ready; null when it is ready. */
    let starting: string | null = 'replaying the log of the store';
    let page: ScrapeOptions['exposition'] = () => null;
    let certificate: NodeCertificate | undefined;
    const auth = new TokenAuth({
      reviews:
        deps.reviews ??
        (kube ? new ApiReviews(kube, { audience: 'svc-agent', ownToken: () => kube.bearerToken() }) : noReviews),
      clock,
      loopbackExempt: settings.loopbackExempt,
    });
    const scrape = await bind(
      'scrape',
      createScrapeServer(
        {
          exposition: (format) => page(format),
          auth,
          notReady: () =>
            starting ?? (certificate?.isIssued === false ? 'waiting for a certificate from the operator' : null),
          logger,
        },
        { ...door('scrape'), limits: { ...probeLimits, reservedPaths: ['/livez', '/readyz'] } },
      ),
      settings.bindAddress,
      settings.scrapePort,
    );

    const store = await openDataDir(settings.dataDir, {
      dir: join(settings.dataDir, 'store'),
      clock,
      logger,
      externalLabels: labelsFromObject({ k8s_node_name: settings.nodeName }),
      retentionMs: settings.retentionTime,
      retentionBytes: settings.retentionSize,
    });
    closers.push(() => store.close());

    const identity = new Identity();
    const podsKnown = kube
      ? watchPods({ node: settings.nodeName, client: kube, clock, logger, pods: identity.pods, signal: stop.signal })
      : Promise.resolve();
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
    const { spans: spanDefaults } = builtinRetention;
    const ring = new StreamRing({ maxBytes: spanDefaults.sizeBytes, maxAgeMs: spanDefaults.timeMs });
    const spans = new SpanPipeline({
      ring,
      clock,
      identity,
      onSpan: (record, startNs) => exports.span(record, startNs),
      onDropped: (reason, count) => metrics.spansDropped.inc({ reason }, count),
      onUnknown: (count) => metrics.metadataMissing.inc({ kind: 'span' }, count),
      onContradicted: (count) => metrics.contradicted.inc({ kind: 'span' }, count),
    });
    const ingest = new Ingest({
      mapper,
      store: teeStore(store, exports),
      metrics,
      clock,
      logger,
      spans,
      refreshSelf: () => refreshMetrics({ mapper, metrics, store, capture }),
    });
    closers.push(() => ingest.close());
    const retain = followRetention(store, settings, logger);
    const capture: CaptureState = new CaptureState({
      node: settings.nodeName,
      dataDir: settings.dataDir,
      instrumentFile: settings.instrumentConfig,
      probe: deps.probe ?? instrumentProbe(settings, clock),
      clock,
      logger,
      onConfig: (config) => {
        ingest.setPolicy(policyOf(settings.nodeName, config));
        spans.setConfig(config);
        retain(config);
        exports.setConfig(config);
        const { timeMs, sizeBytes } = { ...spanDefaults, ...config.retention.spans };
        ring.setLimits({ maxBytes: Math.min(sizeBytes, largestSpanRing), maxAgeMs: timeMs }, clock.now());
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
    page = (format) => (starting === null ? agentPage(format, { mapper, metrics, store, capture }) : null);
    starting = 'putting the capture config in force';
    const start = await startConfig(settings, logger);
    await capture.apply(start.config, start.source);

    starting = 'waiting for the pods of this node';
    const waited = new AbortController();
    await Promise.race([podsKnown, sleep(clock, podWaitMs, AbortSignal.any([signal, waited.signal])).catch(() => {})]);
    waited.abort();
    if (!identity.pods.synced) {
      logger.warn('the pods of this node are not known yet: what comes in is kept without a namespace until they are');
    }
    const consumer = withFlows(ingest, new FlowIntake(ring, clock, identity));
    const grpc = createGrpcReceiver({ consumer, logger });
    const otlpGrpc = await listenGrpc(
      'otlp-grpc',
      grpc,
      { host: settings.otlpBindAddress, port: settings.otlpGrpcPort },
      door('otlp-grpc'),
    );
    listeners.push(() => closeGrpc(grpc, closeGraceMs));
    const otlpHttp = await bind(
      'otlp-http',
      createHttpReceiver({ consumer, logger, door: door('otlp-http') }),
      settings.otlpBindAddress,
      settings.otlpHttpPort,
    );

    let remoteRead = 0;
    let spanStream = 0;
    let captureConfig = 0;
    if (settings.tlsDir === '') logger.warn('no TLS directory: remote read, span stream and capture config are off');
    else {
      const { source: tls, own } = await openIdentity({
        dir: settings.tlsDir,
        dataDir: settings.dataDir,
        node: settings.nodeName,
        clock,
        logger,
        signal: stop.signal,
      });
      certificate = own;
      followExpiry(tls, metrics, () => own?.isIssued !== false);
      const partition = { label: 'k8s_node_name', value: settings.nodeName };
      const memory = new MemoryPool({
        limitBytes: settings.queryMemory || defaultPoolBytes(process.constrainedMemory(), unlimitedContainerBytes),
      });
      const read = storeAdminHandler(
        { store, allowed: (req) => controllers.includes(peerName(req) ?? ''), logger },
        partialHandler(
          { handler: createPartialHandler({ store, node: settings.nodeName, clock, memory }), metrics, logger },
          indexHandler(
            { handler: createIndexHandler({ store, node: settings.nodeName, clock, memory }), metrics, logger },
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
      const tlsServer = (name: string, handler: HttpHandler, clientNames: readonly string[]): NetServer =>
        createTlsServer(tls, handler, { clientNames, ...door(name), form: codeForm });
      remoteRead = await bind('remote-read', tlsServer('remote-read', read, readers), host, settings.remoteReadPort);
      spanStream = await bind(
        'span-stream',
        createAlpnServer(tls, streamHandler(stream), {
          clientNames: readers,
          onHttp2: streamGrpc.accept,
          ...door('span-stream'),
          form: codeForm,
          limits: { stalledMs: readerStalledMs },
        }),
        host,
        settings.spanStreamPort,
      );
      listeners.push(() => streamGrpc.close(closeGraceMs));
      captureConfig = await bind(
        'capture-config',
        tlsServer(
          'capture-config',
          certificateHandler(
            own,
            logger,
            captureHandler(capture, { logger, onSecrets: (secrets) => exports.setSecrets(secrets) }),
          ),
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
    starting = null;
    logger.info('agent started', { node: settings.nodeName, podIp: settings.podIp, version });
    deps.onReady?.({ otlpGrpc, otlpHttp, scrape, remoteRead, spanStream, captureConfig });
    await aborted(signal);
  } finally {
    stop.abort();
    // The listeners close together, then the parts behind them, in reverse order of opening.
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

/** An error while closing one part does not prevent the others from closing. */
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

function followExpiry(tls: TlsSource, metrics: SelfMetrics, isIssued: () => boolean): void {
  const note = (): void => metrics.certExpiry.set(isIssued() ? expiryTime({ cert: tls.current.cert }) / 1_000 : 0);
  note();
  tls.onChange(note);
}

/** The cluster of the environment; null outside of one, which is logged. */
function clusterClient(clock: Clock, logger: Logger): RestClient | null {
  try {
    return createKubeClient({ clock, userAgent: 'svc-agent' });
  } catch (error) {
    logger.warn('no cluster: only loopback may scrape, and no pod of this node can be known', {
      error: errorText(error),
    });
    return null;
  }
}

/** Outside a cluster every token review is answered with "try again". */
const noReviews: ReviewClient = {
  reviewToken: () => Promise.reject(new Error('no cluster to review tokens with')),
  mayAccessPath: () => Promise.reject(new Error('no cluster to review tokens with')),
};

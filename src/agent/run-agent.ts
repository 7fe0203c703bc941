import { aborted } from '../base/aborted.ts';
import { readBuildInfo } from '../base/build-info.ts';
import { type Clock, sleep } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import { LinkedAbort } from '../base/linked-abort.ts';
import type { Logger } from '../base/logger.ts';
import { ApiReviews, createKubeClient, type RestClient } from '../kube/index.ts';
import { probeLimits } from '../net/http/index.ts';
import { type ReviewClient, TokenAuth } from '../net/auth/token-auth.ts';
import type { InstrumentProbe } from './capture/instrument-probe.ts';
import { startConfig } from './capture/start-config.ts';
import type { NodeCertificate } from './certificate/node-certificate.ts';
import { watchPods } from './identity/watch-pods.ts';
import { createGrpcReceiver } from './otlp/grpc-receiver.ts';
import { createHttpReceiver } from './otlp/http-receiver.ts';
import { openCapture } from './parts/capture.ts';
import { Closing } from './parts/closing.ts';
import { openData } from './parts/data.ts';
import { Listeners } from './parts/listeners.ts';
import { openTlsListeners, type TlsPorts } from './parts/tls-listeners.ts';
import { refreshMetrics, type StateSources } from './refresh-metrics.ts';
import { createSelfMetrics } from './self-metrics.ts';
import { agentPage } from './servers/agent-page.ts';
import { createScrapeServer, type ScrapeOptions } from './servers/scrape-server.ts';
import type { AgentSettings } from './settings.ts';

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
  /** Called with the bound ports once everything listens; they differ from the settings where a setting is port 0. */
  readonly onReady?: (ports: AgentPorts) => void;
}

/** The bound ports. The ports with mutual TLS are 0 without a TLS directory: their listeners are off then. */
export interface AgentPorts extends TlsPorts {
  readonly otlpGrpc: number;
  readonly otlpHttp: number;
  readonly scrape: number;
}

/**
 * How long the OTLP receivers wait for the pods of the node before they open. A sender that finds a receiver closed
 * loses nothing: it retries, and its counters go on. But samples that are taken in before the pods are known are stored
 * without a namespace.
 * Units: ms.
 */
const podWaitMs = 5_000;

/**
 * The agent of one node, from its store to its listeners.
 *
 * Flow: scrape and probes, which report what the agent waits for → store → start config (`startConfig`) → OTLP
 * receivers → remote read, spans, capture config.
 * Guarantees: resolves once `signal` has aborted, all accepted data is durable and all parts are closed.
 * Errors: ERR_LISTEN `<listener> listen <address>:<port>: <reason>`, ERR_TLS_MATERIAL, ERR_STORE_*; parts that had
 * started are closed again.
 */
export async function runAgent(settings: AgentSettings, deps: AgentDeps): Promise<void> {
  const { logger, clock, signal } = deps;
  if (settings.hostNetwork && settings.loopbackExempt) {
    logger.warn('on the host network every process of the node scrapes without a token: set --loopback-exempt=false');
  }
  const { version } = readBuildInfo(process.env);
  const metrics = createSelfMetrics({ node: settings.nodeName, version });
  metrics.instrumentInfo.set({ version: settings.instrumentVersion }, 1);
  const listeners = new Listeners(logger, metrics);
  const closing = new Closing(logger);
  const stop = new AbortController();
  try {
    const kube = deps.kube === undefined ? clusterClient(clock, logger) : deps.kube;
    /** The step that the agent still has to finish before it is ready; null when it is ready. */
    let starting: string | null = 'replaying the log of the store';
    let page: ScrapeOptions['exposition'] = () => null;
    let certificate: NodeCertificate | undefined;
    const scrapeServer = createScrapeServer(
      {
        exposition: (format) => page(format),
        auth: new TokenAuth({
          reviews: deps.reviews ?? reviewsOf(kube),
          clock,
          logger,
          loopbackExempt: settings.loopbackExempt,
        }),
        notReady: () =>
          starting ?? (certificate?.isIssued === false ? 'waiting for a certificate from the operator' : null),
        logger,
      },
      { ...listeners.door('scrape'), limits: { ...probeLimits, reservedPaths: ['/livez', '/readyz'] } },
    );
    const scrape = await listeners.bind('scrape', scrapeServer, settings.bindAddress, settings.scrapePort);

    const refreshSelf = (): Promise<void> => refreshMetrics(sources);
    const data = await openData(settings, { clock, logger, metrics, version, closing, refreshSelf });
    const { store, identity, mapper, ingest, consumer } = data;
    const podsKnown = kube
      ? watchPods({ node: settings.nodeName, client: kube, clock, logger, pods: identity.pods, signal: stop.signal })
      : Promise.resolve();
    const { capture, obstacles } = openCapture(settings, data, { clock, logger, closing, probe: deps.probe });
    const sources: StateSources = { mapper, metrics, store, capture };
    page = (format) => (starting === null ? agentPage(format, sources) : null);
    starting = 'putting the capture config in force';
    const start = await startConfig(settings, logger);
    await capture.apply(start.config, start.source);

    starting = 'waiting for the pods of this node';
    const waiting = new LinkedAbort(signal);
    await Promise.race([podsKnown, sleep(clock, podWaitMs, waiting.signal).catch(() => {})]);
    waiting.abort();
    if (!identity.pods.synced) {
      logger.warn('the pods of this node are not known yet: data is stored without a namespace until they are');
    }
    const { otlpBindAddress: host } = settings;
    const grpc = createGrpcReceiver({ consumer, logger });
    const otlpGrpc = await listeners.bindGrpc('otlp-grpc', grpc, host, settings.otlpGrpcPort);
    const http = createHttpReceiver({ consumer, logger, door: listeners.door('otlp-http') });
    const otlpHttp = await listeners.bind('otlp-http', http, host, settings.otlpHttpPort);

    let tlsPorts: TlsPorts = { remoteRead: 0, spanStream: 0, captureConfig: 0 };
    if (settings.tlsDir === '') logger.warn('no TLS directory: remote read, span stream and capture config are off');
    else {
      const tlsDeps = { data, capture, listeners, metrics, clock, logger, signal: stop.signal };
      ({ ports: tlsPorts, certificate } = await openTlsListeners(settings, tlsDeps));
    }

    capture.start();
    obstacles.start();
    await ingest.process();
    ingest.start();
    starting = null;
    logger.info('agent started', { node: settings.nodeName, podIp: settings.podIp, version });
    deps.onReady?.({ otlpGrpc, otlpHttp, scrape, ...tlsPorts });
    await aborted(signal);
  } finally {
    stop.abort();
    await listeners.closing.together();
    await closing.inReverse();
  }
}

/** The cluster of the environment; null outside of one, which is logged. */
function clusterClient(clock: Clock, logger: Logger): RestClient | null {
  try {
    return createKubeClient({ clock, userAgent: 'svc-agent' });
  } catch (error) {
    logger.warn('no cluster: only loopback may scrape, and the pods of this node stay unknown', {
      error: errorText(error),
    });
    return null;
  }
}

function reviewsOf(kube: RestClient | null): ReviewClient {
  return kube ? new ApiReviews(kube, { audience: 'svc-agent', ownToken: () => kube.bearerToken() }) : noReviews;
}

/** Outside a cluster every token review is answered with "try again". */
const noReviews: ReviewClient = {
  reviewToken: () => Promise.reject(new Error('no cluster to review tokens with')),
  mayAccessPath: () => Promise.reject(new Error('no cluster to review tokens with')),
};

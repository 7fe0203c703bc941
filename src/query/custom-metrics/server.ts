import type { Registry } from 'prom-client';
import type { TrafficMonitor } from '../../api/v1alpha1/index.ts';
import { trafficMonitors } from '../../api/v1alpha1/index.ts';
import { someMeta, type KubeObject } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { coreResources, type KubeClient } from '../../kube/index.ts';
import { httpServerMetrics } from '../../net/http/index.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { untilQuiet } from '../../net/drain.ts';
import { boundAddress, closeServer, listen } from '../../net/listen.ts';
import type { TlsSource } from '../../net/tls-material.ts';
import { keyText, oneObject, type Cache, type Health } from '../../runtime/index.ts';
import type { AgentDirectory } from '../agents/directory.ts';
import { createCustomMetricsHandler } from './api/handler.ts';
import type { Offer } from './api/discovery.ts';
import { statusForm } from './api/status-error.ts';
import { Access, unknownCas, type AccessReviews } from './auth/access.ts';
import { ClientCas, readAuthenticationConfig } from './auth/client-ca.ts';
import { AdapterClient } from './fallback/adapter-client.ts';
import { AdapterDiscovery } from './fallback/adapter-discovery.ts';
import { SecondAdapter } from './fallback/second-adapter.ts';
import { createCustomMetricsMeter } from './metrics.ts';
import { declaredMetrics, monitorProvider, type DeclaredMetric } from './providers/monitor-provider.ts';
import { presetProvider } from './providers/preset-provider.ts';
import type { MetricName, MetricProvider } from './providers/provider.ts';
import { MetricService } from './values/metric-service.ts';
import { ObjectLookup, podsByNamespace } from './values/objects.ts';
import { ValueCache, type ValueCacheOptions } from './values/value-cache.ts';

/** Grace period for requests in flight when the server stops. */
const graceMs = 5_000;
/** How long a value is reused: autoscalers ask every 15 s, all those of a namespace at nearly the same time. */
const freshMs = 2_000;
/** After a start, the pod waits this long for what only autoscalers need. Units: ms. */
const patienceMs = 120_000;

export interface CustomMetricsOptions {
  readonly settings: {
    readonly bindAddress: string;
    readonly customMetricsPort: number;
    readonly externalMetrics: boolean;
    readonly partialAggregates: boolean;
    readonly customMetricsFallback: string;
    readonly customMetricsFallbackCaFile: string;
    readonly customMetricsFallbackTokenFile: string;
    readonly agentTimeout: number;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly client: KubeClient;
  /** The cache, started or not: this server adds its informers to it. */
  readonly cache: Cache;
  readonly directory: AgentDirectory;
  readonly reviews: AccessReviews;
  readonly tls: TlsSource;
  readonly instant: ValueCacheOptions['instant'];
  readonly registry: Registry;
  /** The checks of the pod's `/readyz`; this server adds its own. */
  readonly readiness: Pick<Health, 'add'>;
  readonly version: string;
  /** Metrics of other providers, after those of monitors and before the presets. */
  readonly providers?: readonly MetricProvider[];
}

export interface CustomMetricsServer {
  readonly port: number;
  /**
   * Makes the server not ready. Resolves when no connection has arrived for `quietMs`, or at a time limit. Units: ms.
   */
  drain(quietMs: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Serves `custom.metrics.k8s.io` (and, when enabled, `external.metrics.k8s.io`) behind the API server's aggregator.
 * Errors: ERR_LISTEN `custom-metrics listen <address>:<port>: <reason>`.
 */
export async function startCustomMetrics(options: CustomMetricsOptions): Promise<CustomMetricsServer> {
  const { settings, clock, logger, client, cache, directory, tls, reviews } = options;
  const cas = watchClientCas(cache, logger);
  const pods = cache.informer({
    resource: coreResources.pods,
    metadataOnly: true,
    transform: { name: 'names-and-labels', apply: namesAndLabels },
  });
  pods.addIndex(podsByNamespace, ({ metadata }) => [metadata.namespace ?? '']);
  const monitors = watchDeclaredMetrics(cache, logger);
  const providers = [
    monitorProvider(monitors.declared, monitors.notReady),
    ...(options.providers ?? []),
    presetProvider,
  ];
  const second = secondAdapter(options);
  const meter = createCustomMetricsMeter(options.registry, () => ({
    ...Object.fromEntries(providers.map((p) => [p.name, p.names().length])),
    ...(second ? { fallback: second.discovery.size } : {}),
  }));
  const service = new MetricService({
    providers,
    values: new ValueCache({
      instant: options.instant,
      clock,
      freshMs,
      deadlineMs: settings.agentTimeout * 2,
    }),
    objects: new ObjectLookup({ client, clock, pods }),
    logger,
    meter,
    partialAggregates: settings.partialAggregates,
    now: () => clock.now(),
  });
  let draining = false;
  const notReady = (): string | undefined => {
    if (!cas.known) return unknownCas;
    if (!pods.synced) return 'the list of pods is not complete';
    if (!directory.synced) return 'the list of agents is not complete';
    return providers.map((provider) => provider.notReady?.()).find((reason) => reason !== undefined);
  };
  options.readiness.add('custom-metrics', patientCheck(notReady, options));
  const handler = createCustomMetricsHandler({
    access: new Access({ reviews, cas, clock, logger }),
    service,
    fallback: second && new SecondAdapter({ client: second.client, clock, logger, meter }),
    offer: () => ({ ...offerOf(providers, settings.externalMetrics), passedOn: second?.discovery.offer }),
    draining: () => draining,
    notReady,
    version: options.version,
    clock,
    logger,
    meter,
  });
  const server = createTlsServer(tls, handler, {
    clients: cas,
    name: 'custom-metrics',
    logger,
    metrics: httpServerMetrics(options.registry, 'svc_query'),
    limits: { reservedPaths: ['/healthz', '/livez', '/readyz'] },
    form: statusForm,
  });
  const port = await listen('custom-metrics', server, {
    host: settings.bindAddress,
    port: settings.customMetricsPort,
  });
  logger.info('custom metrics: listening', { address: boundAddress(server), port });
  const stopped = new AbortController();
  const discovering = second?.discovery.run(stopped.signal);
  return {
    port,
    drain: (quietMs) => {
      draining = true;
      return untilQuiet([server], { clock, quietMs });
    },
    close: async () => {
      stopped.abort();
      await closeServer(server, graceMs);
      second?.client.close();
      await discovering;
    },
  };
}

/**
 * The pod's readiness check. It passes once the patience after the start has ended, because the pod also serves queries,
 * the page and streams; autoscalers get 503 for as long as there is a reason.
 */
function patientCheck(
  notReady: () => string | undefined,
  { clock, logger }: Pick<CustomMetricsOptions, 'clock' | 'logger'>,
): () => void {
  const startedAt = clock.monotonic();
  let told = false;
  return () => {
    const reason = notReady();
    if (reason === undefined) return;
    if (clock.monotonic() - startedAt < patienceMs) throw new Error(reason);
    if (!told) logger.error('custom metrics: not ready, the pod serves everything else', { reason });
    told = true;
  };
}

/** The adapter that answers for metrics that this server does not have; undefined without one. */
function secondAdapter({ settings, clock, logger }: CustomMetricsOptions) {
  const { customMetricsFallback: url, externalMetrics: external, agentTimeout: deadlineMs } = settings;
  if (url === '') return undefined;
  const client = new AdapterClient({
    url,
    caFile: settings.customMetricsFallbackCaFile,
    tokenFile: settings.customMetricsFallbackTokenFile,
    clock,
    deadlineMs,
  });
  return { client, discovery: new AdapterDiscovery({ client, external, clock, logger }) };
}

/** Lists each metric once by name and kind, even if several providers offer it. */
function offerOf(providers: readonly MetricProvider[], external: boolean): Offer {
  const custom = new Map<string, MetricName>();
  for (const one of providers.flatMap((p) => p.names())) custom.set(`${one.resource.name}/${one.metric}`, one);
  const names = external ? [...new Set(providers.flatMap((p) => p.externalNames()))] : undefined;
  const sorted = [...custom].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  return { custom: sorted, external: names?.sort() };
}

/** Follows the ConfigMap in which the API server publishes the CAs of its front proxy. */
function watchClientCas(cache: Cache, logger: Logger): ClientCas {
  const cas = new ClientCas();
  const name = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const maps = cache.informer(oneObject(coreResources.configMaps, name));
  maps.onEvent(({ type, object }) => {
    if (type === 'deleted') return;
    try {
      cas.set(readAuthenticationConfig(object['data'] as Record<string, string> | undefined));
      logger.info('authentication configuration read', { configMap: keyText(name) });
    } catch (error) {
      logger.error('authentication configuration not read, the last good one stays', { error: errorText(error) });
    }
  });
  return cas;
}

/** The metrics that monitors declare, recomputed only after a monitor has changed. */
function watchDeclaredMetrics(
  cache: Cache,
  logger: Logger,
): { declared: () => readonly DeclaredMetric[]; notReady: () => string | undefined } {
  const informer = cache.informer<TrafficMonitor>({ resource: trafficMonitors });
  let known: readonly DeclaredMetric[] | undefined;
  informer.onEvent(() => (known = undefined));
  const warned = new Set<string>();
  const refused = (metric: string, reason: string): void => {
    if (warned.has(metric + reason)) return;
    warned.add(metric + reason);
    logger.warn('an autoscaling metric is not offered', { metric, reason });
  };
  return {
    declared: () => (known ??= declaredMetrics(informer.list(), refused)),
    notReady: () => (informer.synced ? undefined : 'the list of TrafficMonitors is not complete'),
  };
}

/** Keeps what the informer and label selectors need; the rest is most of a pod's metadata. */
function namesAndLabels(object: KubeObject): KubeObject {
  const metadata = someMeta(object.metadata, 'name', 'namespace', 'uid', 'resourceVersion', 'labels');
  return { apiVersion: object.apiVersion, kind: object.kind, metadata };
}

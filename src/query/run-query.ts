import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { aborted } from '../base/aborted.ts';
import { readBuildInfo } from '../base/build-info.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { ApiReviews, coreResources, createKubeClient } from '../kube/index.ts';
import type { NamespaceAccessOptions } from '../net/auth/namespace-access.ts';
import { watchTlsDirectory } from '../net/tls-material.ts';
import { SharedCache } from '../runtime/index.ts';
import { watchAddresses } from './addresses/watch-addresses.ts';
import { watchAgents } from './agents/kube-directory.ts';
import { ruleProvider } from './custom-metrics/rules/rule-provider.ts';
import { watchRules, type RuleWatchOptions } from './custom-metrics/rules/watch-rules.ts';
import { startCustomMetrics } from './custom-metrics/server.ts';
import { watchObjects } from './objects/watch-objects.ts';
import { watchQueryLimits } from './policy-limits.ts';
import { startQueryServer } from './query-server.ts';
import type { QuerySettings } from './settings.ts';
import { warmUpQueries } from './warm-up.ts';

/** Rules of autoscaling metrics find the series that have had a sample within this time. Units: ms. */
const seriesWindowMs = 300_000;

export interface QueryContext {
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Runs the query server until the signal aborts.
 * Errors: ERR_TLS_MATERIAL, ERR_LISTEN, and the errors of an invalid kubeconfig. An unreachable API server is not an
 * error: the server starts, is not ready, and tries again.
 */
export async function runQuery(settings: QuerySettings, { logger, clock, signal }: QueryContext): Promise<void> {
  const tls = await watchTlsDirectory(settings.tlsDir, { clock, logger, signal });
  const client = createKubeClient();
  const cache = new SharedCache({ client, clock, logger });
  const directory = watchAgents(cache, {
    namespace: settings.namespace,
    labelSelector: settings.agentSelector,
    clock,
    logger,
  });
  const reviews = new ApiReviews(client, { audience: 'svc-query', ownToken: () => client.bearerToken() });
  const namespaces = cache.informer({ resource: coreResources.namespaces });
  const limits = watchQueryLimits(cache, namespaces);
  const addresses = watchAddresses(cache, clock);
  const queries = await warmUpQueries(settings.warmUp, clock);
  logger.info('query: warm', { queries });
  const server = await startQueryServer({
    settings,
    clock,
    logger,
    directory,
    reviews,
    limits,
    addresses,
    objects: {
      kinds: watchObjects(cache),
      reviews,
      namespaces: namespaceList(namespaces),
      labelledNamespaces: () => namespaces.list().map(({ metadata: { name = '', labels = {} } }) => ({ name, labels })),
    },
    tenants: { reviews, namespaces: namespaceList(namespaces) },
    tls,
    version: readBuildInfo(process.env).version,
    pageDir: findPage(),
  });
  const { customMetricsRules } = settings;
  const series: RuleWatchOptions['series'] = async (matchers, within) => {
    const now = clock.now();
    const request = { signal: within, partialResponse: true };
    return server.runner.series([matchers], now - seriesWindowMs, now, request);
  };
  const autoscaling = settings.customMetrics
    ? await startCustomMetrics({
        settings,
        clock,
        logger,
        client,
        cache,
        directory,
        reviews,
        tls,
        version: readBuildInfo(process.env).version,
        registry: server.registry,
        readiness: server.readiness,
        instant: (query, timeMs, { namespace, ...request }) => {
          const tenant = namespace === undefined ? undefined : new Set([namespace]);
          const caller = `autoscalers ${namespace ?? ''}`;
          return server.runner.instant(query, timeMs, { ...request, tenant, caller, forAutoscaler: true });
        },
        providers:
          customMetricsRules === ''
            ? []
            : [ruleProvider(watchRules({ file: customMetricsRules, series, directory, clock, logger, signal }))],
      })
    : undefined;
  const stop = new AbortController();
  cache.start(stop.signal);
  try {
    await aborted(signal);
  } finally {
    const { shutdownQuiet } = settings;
    await Promise.all([server.drain(shutdownQuiet), autoscaling?.drain(shutdownQuiet)]);
    await autoscaling?.close();
    await server.close();
    stop.abort();
    await cache.stopped();
    await client.close();
  }
}

function namespaceList(informer: ReturnType<SharedCache['informer']>): NamespaceAccessOptions['namespaces'] {
  return {
    get synced() {
      return informer.synced;
    },
    names: () => informer.list().map(({ metadata }) => metadata.name ?? ''),
  };
}

/**
 * The folder of the built page: next to the compiled code in an image, in `dist/` of a checkout that runs from its
 * sources.
 */
function findPage(): string | undefined {
  return ['../ui', '../../dist/ui']
    .map((path) => fileURLToPath(new URL(path, import.meta.url)))
    .find((dir) => existsSync(`${dir}/index.html`));
}

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { collectDefaultMetrics } from 'prom-client';
import { aborted } from '../base/aborted.ts';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { ApiReviews, createKubeClient } from '../kube/index.ts';
import { httpServerMetrics } from '../net/http/index.ts';
import { closeServer, listen } from '../net/listen.ts';
import { TokenAuth } from '../net/auth/token-auth.ts';
import type { Converters } from '../net/webhook/conversion.ts';
import { openTracing, RuntimeMetrics } from '../runtime/index.ts';
import { createOperatorServer } from './operator-server.ts';
import { SvcOperator } from './operator.ts';
import type { OperatorSettings } from './operator-settings.ts';

/** The operator: the controllers of our kinds, one folder per concern. */
export { operatorSettingTable, type OperatorSettings } from './operator-settings.ts';

export interface OperatorDeps {
  logger: Logger;
  clock: Clock;
  signal: AbortSignal;
  /**
   * Converters between versions of our kinds. Default: those of this version of the operator; a test build has more.
   */
  converters?: Converters | undefined;
}

/**
 * How long reconciles may go on after a stop. Then they are aborted, the lease is given back, and the webhooks are
 * served for up to 16 s more: all of it within the pod's `terminationGracePeriodSeconds` of 30. Units: ms.
 */
const drainMs = 10_000;

/**
 * Runs the operator until the signal aborts: health and metrics first, then caches, leadership, controllers.
 * Errors: ERR_LISTEN, ERR_CONFIG_INVALID (no cluster configured), ERR_CACHE_SYNC, ERR_LEASE_LOST.
 */
export async function runOperator(settings: OperatorSettings, deps: OperatorDeps): Promise<void> {
  const { logger, clock, signal } = deps;
  const metrics = new RuntimeMetrics({ prefix: 'svc_controller' });
  collectDefaultMetrics({ register: metrics.registry });
  const http = httpServerMetrics(metrics.registry, 'svc_controller');
  const instance = process.env['POD_NAME'] ?? hostname();
  const client = createKubeClient({
    clock,
    userAgent: 'svc-controller',
    onRequest: metrics.onRequest,
    onRetry: metrics.onRetry,
  });
  const tracing = await openTracing({
    service: 'svc-controller',
    version: settings.svcImage.split('@')[0]!.split(':').at(-1)!,
    instance,
    endpoint: settings.otlpEndpoint,
    environment: process.env,
    clock,
    logger,
  });
  const identity = `${instance}_${randomUUID()}`;
  const options = {
    client,
    clock,
    logger,
    metrics,
    component: 'svc-controller',
    instance,
    tracer: tracing?.tracer,
    drainMs,
    ...(settings.leaderElect
      ? { leaderElection: { namespace: settings.namespace, name: 'svc-controller', identity } }
      : {}),
  };
  const operator = new SvcOperator(settings, logger, options, deps.converters);
  const auth = new TokenAuth({
    reviews: new ApiReviews(client, { audience: 'svc-controller', ownToken: () => client.bearerToken() }),
    clock,
    logger,
    loopbackExempt: settings.loopbackExempt && !settings.tenancy,
  });
  const server = createOperatorServer(operator.runtime, auth, {
    name: 'metrics',
    logger,
    metrics: http,
  });
  try {
    const port = await listen('metrics', server, { host: settings.bindAddress, port: settings.metricsPort });
    logger.info('operator starts', { server: client.server, namespace: settings.namespace, metricsPort: port });
    await operator.start();
    await Promise.race([aborted(signal), operator.finished()]);
    await operator.stop();
    await operator.finished();
  } finally {
    await closeServer(server, 1_000);
    await tracing?.close();
    await client.close();
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { silentLogger } from '../../base/logger.ts';
import { Health, probeHandler } from '../../runtime/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { captureRoutes } from '../../agent/servers/capture-server.ts';
import { routed } from '../../agent/servers/routes.ts';
import { storeAdminRoute } from '../../agent/servers/store-admin-server.ts';
import { streamRoutes } from '../../agent/servers/stream-server.ts';
import { createCustomMetricsHandler } from '../../query/custom-metrics/api/handler.ts';
import { webhookHandler } from '../webhook/handler.ts';
import type { HttpHandler } from './index.ts';

/** A placeholder for a part of a handler. A request for an unknown route must not reach it. */
const part = <T>(): T => ({}) as T;
const logger = silentLogger;
const clock = new FakeClock();
const health = new Health();

const handlers: Record<string, HttpHandler> = {
  'probes and metrics of the operator': probeHandler({
    liveness: health,
    readiness: health,
    metricsText: async () => '',
  }),
  'the webhook': webhookHandler({ validators: {}, converters: {}, clock, logger }),
  'the API for autoscalers': createCustomMetricsHandler({
    ...part<Parameters<typeof createCustomMetricsHandler>[0]>(),
    access: { user: async () => ({ username: 'anna', groups: [] }), check: async () => {} } as never,
    offer: () => ({ custom: [], external: undefined }) as never,
    notReady: () => undefined,
    version: '1.2.3',
    clock,
    logger,
    meter: { request: () => {} } as never,
  }),
  'the stream of an agent': routed(streamRoutes(part())),
  'the store of an agent': routed([storeAdminRoute({ store: part(), allowed: () => true, logger })]),
  'the capture config of an agent': routed(captureRoutes(part(), { logger, onSecrets: () => {} })),
};

async function statusOf(handler: HttpHandler, url: string): Promise<number> {
  const req = Object.assign(new PassThrough(), { url, method: 'GET', headers: {}, headersDistinct: {}, socket: {} });
  const res = Object.assign(new PassThrough(), {
    statusCode: 200,
    headersSent: false,
    setHeader: () => res,
    writeHead: (status: number) => Object.assign(res, { statusCode: status, headersSent: true }),
  });
  const ended = new Promise((resolve) => res.on('finish', resolve));
  await handler(req as unknown as IncomingMessage, res as unknown as ServerResponse);
  await ended;
  return res.statusCode;
}

const targets = [
  '//',
  '///',
  '//[',
  '//%',
  '//:0',
  '/\\',
  'http://',
  'http://[',
  '*',
  '?',
  '',
  'a:b',
  '/%',
  '/\u0000',
  '//?#',
];

describe.each(Object.keys(handlers))('%s', (name) => {
  test.each(targets)('answers 404 to the target %j', async (target) => {
    expect(await statusOf(handlers[name]!, target)).toBe(404);
  });
});

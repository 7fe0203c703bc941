/**
 * A shop service of the demo: `catalog` serves product pages, `checkout` takes orders and asks the catalog.
 * Environment: PORT, BIND_ADDRESS, OTEL_SERVICE_NAME (catalog | checkout), and what telemetry.ts reads.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { context } from '@opentelemetry/api';
import { getRPCMetadata } from '@opentelemetry/core';
import { http, shutdownTelemetry } from './telemetry.ts';

const name = process.env['OTEL_SERVICE_NAME'] ?? 'catalog';
const port = Number(process.env['PORT'] ?? 8080);
const host = process.env['BIND_ADDRESS'] ?? '0.0.0.0';

interface Route {
  pattern: RegExp;
  route: string;
  handle(req: IncomingMessage, match: RegExpExecArray): Promise<{ status: number; body: unknown }>;
}

const routes: Route[] =
  name === 'checkout'
    ? [{ pattern: /^\/orders$/, route: '/orders', handle: placeOrder }]
    : [{ pattern: /^\/products\/(\d+)$/, route: '/products/{id}', handle: showProduct }];

/**
 * Every seventh product is sold out (404) and every fiftieth fails (500), so that error ratios have something to show.
 */
async function showProduct(_req: IncomingMessage, match: RegExpExecArray): Promise<{ status: number; body: unknown }> {
  const id = Number(match[1]);
  await delay(2 + (id % 10));
  if (id % 50 === 0) return { status: 500, body: { error: 'price service unavailable' } };
  if (id % 7 === 0) return { status: 404, body: { error: 'sold out' } };
  return { status: 200, body: { id, name: `product ${id}`, price: id * 3 } };
}

/** The request's headers name the product and the address of the catalog: the demo has no cluster DNS. */
async function placeOrder(req: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const catalog = String(req.headers['x-demo-catalog'] ?? '');
  const id = Number(req.headers['x-demo-product'] ?? 1);
  const status = catalog ? await fetchStatus(`http://${catalog}/products/${id}`) : 200;
  return status === 200
    ? { status: 201, body: { order: id } }
    : { status: status === 404 ? 409 : 502, body: { product: status } };
}

function fetchStatus(url: string): Promise<number> {
  return new Promise((resolve) => {
    const req = http.get(url, { timeout: 2_000 }, (res) => {
      res.resume();
      res.on('end', () => resolve(res.statusCode ?? 0));
    });
    req.on('timeout', () => req.destroy());
    req.on('error', () => resolve(503));
  });
}

async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const path = (req.url ?? '/').split('?')[0]!;
  for (const { pattern, route, handle } of routes) {
    const match = pattern.exec(path);
    if (!match) continue;
    const metadata = getRPCMetadata(context.active());
    if (metadata) Object.assign(metadata, { route });
    const { status, body } = await handle(req, match);
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify(body));
    return;
  }
  res.writeHead(path === '/healthz' ? 200 : 404);
  res.end();
}

const server = http.createServer((req, res) => {
  answer(req, res).catch((error: unknown) => {
    res.writeHead(500);
    res.end(String(error));
  });
});
server.listen(port, host, () => console.error(JSON.stringify({ msg: 'listening', service: name, host, port })));
process.once('SIGTERM', () => {
  server.close();
  server.closeIdleConnections();
  void shutdownTelemetry().finally(() => process.exit(0));
});

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { requestTarget } from '../base/request-target.ts';
import type { HttpHandler } from '../net/http/index.ts';
import { refuseScrape } from '../net/scrape-right.ts';
import type { TokenAuth } from '../net/token-auth.ts';
import { sendText } from './api/respond.ts';

/** `/livez` and `/readyz` for the kubelet, and `/metrics` for who may `get` that path; plain HTTP. */
export function healthHandler(ready: () => boolean, registry: Registry, auth: Pick<TokenAuth, 'decide'>): HttpHandler {
  return (req, res) => {
    const { path } = requestTarget(req);
    if (req.method !== 'GET' && req.method !== 'HEAD') return sendText(res, 405, 'Method Not Allowed\n');
    if (path === '/livez') return sendText(res, 200, 'ok\n');
    if (path === '/readyz')
      return ready() ? sendText(res, 200, 'ok\n') : sendText(res, 503, 'agents are not listed yet\n');
    if (path !== '/metrics') return sendText(res, 404, '404 page not found\n');
    return serveMetrics(req, res, registry, auth);
  };
}

async function serveMetrics(
  req: IncomingMessage,
  res: ServerResponse,
  registry: Registry,
  auth: Pick<TokenAuth, 'decide'>,
): Promise<void> {
  const refusal = await refuseScrape(auth, req, res);
  if (refusal) return sendText(res, refusal.status, `${refusal.message}\n`);
  try {
    const text = await registry.metrics();
    res.setHeader('content-type', registry.contentType);
    res.end(text);
  } catch {
    sendText(res, 500, 'metrics could not be collected\n');
  }
}

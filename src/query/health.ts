import type { RequestListener } from 'node:http';
import type { Registry } from 'prom-client';
import { sendText } from './api/respond.ts';

/** `/livez`, `/readyz` and `/metrics` for the kubelet and a scraper, without TLS or tokens. */
export function healthHandler(ready: () => boolean, registry: Registry): RequestListener {
  return (req, res) => {
    const path = (req.url ?? '/').split('?', 1)[0];
    if (req.method !== 'GET' && req.method !== 'HEAD') return sendText(res, 405, 'Method Not Allowed\n');
    if (path === '/livez') return sendText(res, 200, 'ok\n');
    if (path === '/readyz')
      return ready() ? sendText(res, 200, 'ok\n') : sendText(res, 503, 'agents are not listed yet\n');
    if (path !== '/metrics') return sendText(res, 404, '404 page not found\n');
    registry
      .metrics()
      .then((text) => {
        res.setHeader('content-type', registry.contentType);
        res.end(text);
      })
      .catch(() => sendText(res, 500, 'metrics could not be collected\n'));
  };
}

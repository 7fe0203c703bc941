import type { Server, ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { requestTarget } from '../../base/request-target.ts';
import { createHttpServer, probeLimits, type DoorOptions, type HttpHandler } from '../../net/http/index.ts';
import type { MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';

export interface AdminDeps {
  registry: Registry;
  readiness: () => MinterReadiness;
  door?: DoorOptions;
}

/** `/livez`, `/readyz` and `/metrics` on a port of their own: callers of `/token` cannot reach them. */
export function createAdminServer(deps: AdminDeps): Server {
  const handler: HttpHandler = (req, res) => {
    const { path } = requestTarget(req);
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      res.setHeader('Allow', 'GET, HEAD');
      return send(res, 405, 'text/plain', 'method not allowed\n');
    }
    if (path === '/livez') return send(res, 200, 'text/plain', 'ok\n');
    if (path === '/readyz') {
      const report = deps.readiness();
      return send(res, report.ready ? 200 : 503, 'application/json', `${JSON.stringify(report)}\n`);
    }
    if (path === '/metrics') {
      return deps.registry.metrics().then(
        (text) => send(res, 200, deps.registry.contentType, text),
        () => send(res, 500, 'text/plain', 'metrics failed\n'),
      );
    }
    return send(res, 404, 'text/plain', 'not found\n');
  };
  return createHttpServer(handler, { ...deps.door, limits: { requestMs: 10_000, ...probeLimits } });
}

function send(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' });
  res.end(body);
}

import { createServer, type Server, type ServerResponse } from 'node:http';
import { serverLimits } from '../net/https-server.ts';
import { healthText, type CheckReport } from '../runtime/index.ts';

export interface OperatorServerParts {
  liveness: { run(exclude?: readonly string[]): Promise<CheckReport> };
  readiness: { run(exclude?: readonly string[]): Promise<CheckReport> };
  metricsText(): Promise<string>;
}

/** `/livez`, `/readyz` (`?verbose`, `?exclude=name`) and `/metrics`, plain HTTP: the NetworkPolicy says who gets here. */
export function createOperatorServer(parts: OperatorServerParts): Server {
  return createServer({ ...serverLimits }, (req, res) => {
    const url = new URL(req.url ?? '/', 'http://operator');
    if (req.method !== 'GET' && req.method !== 'HEAD') return send(res, 405, 'method not allowed\n');
    const probe = { '/livez': parts.liveness, '/healthz': parts.liveness, '/readyz': parts.readiness }[url.pathname];
    if (probe) {
      void probe.run(url.searchParams.getAll('exclude')).then((report) => {
        const name = url.pathname.slice(1);
        const text = report.ok && !url.searchParams.has('verbose') ? 'ok\n' : healthText(name, report);
        send(res, report.ok ? 200 : 503, text);
      });
      return;
    }
    if (url.pathname === '/metrics') {
      parts.metricsText().then(
        (text) => send(res, 200, text, 'text/plain; version=0.0.4; charset=utf-8'),
        () => send(res, 500, 'metrics failed\n'),
      );
      return;
    }
    send(res, 404, 'not found\n');
  });
}

function send(res: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { healthText, type Health } from './health.ts';

export interface ProbeParts {
  liveness: Pick<Health, 'run'>;
  readiness: Pick<Health, 'run'>;
  /** All metrics in the text format. */
  metricsText(): Promise<string>;
}

/**
 * Answers `/healthz`, `/livez` (the same), `/readyz` and `/metrics` as the API server and controller-runtime do:
 * `?verbose` lists every check, `?exclude=name` leaves one out, `/readyz/name` asks for one alone. 200 or 503.
 * The listener is the program's: `createServer(probeHandler(manager)).listen(8080)`.
 */
export function probeHandler(parts: ProbeParts): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    const url = new URL(req.url ?? '/', 'http://operator');
    if (req.method !== 'GET' && req.method !== 'HEAD') return send(res, 405, 'method not allowed\n');
    if (url.pathname === '/metrics') {
      parts.metricsText().then(
        (text) => send(res, 200, text, 'text/plain; version=0.0.4; charset=utf-8'),
        () => send(res, 500, 'metrics failed\n'),
      );
      return;
    }
    const [, probe = '', only] = /^\/(livez|healthz|readyz)(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const health = probe === 'readyz' ? parts.readiness : parts.liveness;
    if (probe === '') return send(res, 404, 'not found\n');
    void health.run({ exclude: url.searchParams.getAll('exclude'), only }).then((report) => {
      if (only !== undefined && report.checks.length === 0) return send(res, 404, 'not found\n');
      const brief = report.ok && !url.searchParams.has('verbose');
      send(res, report.ok ? 200 : 503, brief ? 'ok\n' : healthText(probe, report));
    });
  };
}

function send(res: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

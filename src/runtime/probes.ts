import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestTarget } from '../base/request-target.ts';
import { healthText, type Health } from './health.ts';

/** What the probes and `/metrics` need. A `Manager` has all of it. */
export interface ProbeParts {
  liveness: Pick<Health, 'run'>;
  readiness: Pick<Health, 'run'>;
  /** All metrics in the text format. */
  metricsText(): Promise<string>;
  /**
   * Returns the reason to refuse a request for `/metrics`, or undefined to answer it. May set headers of the refusal.
   * Without this function, any client that reaches the port may read the metrics.
   */
  refuseScrape?(req: IncomingMessage, res: ServerResponse): Promise<{ status: number; message: string } | undefined>;
}

/**
 * Answers `/healthz`, `/livez` (the same), `/readyz` and `/metrics` as the API server and controller-runtime do:
 * `?verbose` lists every check, `?exclude=name` leaves one out, `/readyz/name` runs only one. The status is 200 or 503.
 * The program provides the listener: `createServer(probeHandler(manager)).listen(8080)`. No request target makes the
 * handler throw.
 */
export function probeHandler(parts: ProbeParts): (req: IncomingMessage, res: ServerResponse) => void | Promise<void> {
  return (req, res) => {
    const { path, params } = requestTarget(req);
    if (req.method !== 'GET' && req.method !== 'HEAD') return send(res, 405, 'method not allowed\n');
    if (path === '/metrics') {
      return serveMetrics(parts, req, res);
    }
    const [, probe = '', only] = /^\/(livez|healthz|readyz)(?:\/([^/]+))?$/.exec(path) ?? [];
    const health = probe === 'readyz' ? parts.readiness : parts.liveness;
    if (probe === '') return send(res, 404, 'not found\n');
    return health.run({ exclude: params.getAll('exclude'), only }).then((report) => {
      if (only !== undefined && report.checks.length === 0) return send(res, 404, 'not found\n');
      const brief = report.ok && !params.has('verbose');
      send(res, report.ok ? 200 : 503, brief ? 'ok\n' : healthText(probe, report));
    });
  };
}

async function serveMetrics(parts: ProbeParts, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const refusal = await parts.refuseScrape?.(req, res);
  if (refusal) return send(res, refusal.status, `${refusal.message}\n`);
  await parts.metricsText().then(
    (text) => send(res, 200, text, 'text/plain; version=0.0.4; charset=utf-8'),
    () => send(res, 500, 'metrics failed\n'),
  );
}

function send(res: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

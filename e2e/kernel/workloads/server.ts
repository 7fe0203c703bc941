/**
 * The Node server among the workloads that the instrument observes. Environment: PORT; with TLS_CERT and TLS_KEY it
 * speaks TLS. Every server among the workloads answers the same paths, and prints a line for each answered request. The
 * instrument's counts are compared with these lines.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';

const { env } = process;

interface Answer {
  readonly status: number;
  readonly route: string;
  readonly body?: string;
  readonly afterMs?: number;
}

/** The answer to a request. `route` is the template of the path. */
function answerTo(method: string, path: string): Answer {
  if (method === 'POST' && path === '/orders') return { status: 201, route: '/orders', body: 'o'.repeat(5_000) };
  if (method === 'DELETE' && path.startsWith('/orders/')) return { status: 204, route: '/orders/*' };
  if (path.startsWith('/cart/')) return { status: 200, route: '/cart/*', body: 'cart' };
  if (path === '/boom') return { status: 500, route: path, body: 'boom' };
  if (path === '/slow') return { status: 200, route: path, body: 'slow', afterMs: 500 };
  if (path === '/warm') return { status: 200, route: path, body: 'warm' };
  return { status: 404, route: path, body: 'missing' };
}

function serve(req: IncomingMessage, res: ServerResponse): void {
  const started = performance.now();
  const { method = '', url = '' } = req;
  req.resume();
  req.on('end', () => {
    const { status, route, body = '', afterMs = 0 } = answerTo(method, url);
    setTimeout(() => {
      // A 204 has no body, and no content-length either.
      res.writeHead(status, status === 204 ? {} : { 'content-length': body.length }).end(body);
      const seconds = (performance.now() - started) / 1_000;
      process.stdout.write(`${JSON.stringify({ method, status, route, seconds })}\n`);
    }, afterMs);
  });
}

const { TLS_CERT: cert, TLS_KEY: key } = env;
const server =
  cert && key ? createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) }, serve) : createServer(serve);
// Connections stay open even if the client makes no requests for a long time.
server.keepAliveTimeout = 3_600_000;
server.requestTimeout = 0;
server.listen(Number(env['PORT']), () => process.stdout.write('{"listening":true}\n'));

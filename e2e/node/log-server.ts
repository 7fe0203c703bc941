import { createServer } from 'node:https';
import type { Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { existsSync } from 'node:fs';
import { servePortForward } from '../../src/testing/port-forward.ts';
import type { KeyPair } from '../cluster/pki.ts';
import { readLog } from './container/log.ts';
import type { LogLine } from './container/log.ts';
import type { PodWorker } from './pod-worker.ts';

export interface LogServerOptions {
  address: string;
  port: number;
  serving: KeyPair;
  /** Clients must have a certificate of this authority, as the API server has. */
  clientCa: string;
  findPod(namespace: string, name: string): PodWorker | undefined;
}

/**
 * The part of a kubelet's HTTPS server that `kubectl logs` needs: GET /containerLogs/{namespace}/{pod}/{container} with
 * follow, previous, timestamps, tailLines, sinceSeconds, sinceTime and limitBytes; and port-forwards by WebSocket, as
 * @kubernetes/client-node makes them. kubectl's own port-forward uses SPDY: it gets a 501, as do exec and attach.
 */
export async function startLogServer(options: LogServerOptions): Promise<{ port: number; server: Server }> {
  const server = createServer(
    {
      cert: options.serving.cert,
      key: options.serving.key,
      ca: options.clientCa,
      requestCert: true,
      rejectUnauthorized: true,
    },
    (req, res) => answer(options, req, res),
  );
  server.on('upgrade', (req: IncomingMessage, socket: Duplex) => forwardPort(options, req, socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.address, resolve);
  });
  const bound = server.address();
  return { port: typeof bound === 'object' && bound ? bound.port : options.port, server };
}

const unknownClient = 'a client certificate is needed';
const lacks = (route = ''): string =>
  `a process node has no ${route}: its containers are processes of the machine, look at them there`;

/** Connects to the pod from a loopback address, as a process inside the pod does. */
function forwardPort(options: LogServerOptions, req: IncomingMessage, socket: Duplex): void {
  const [route, namespace = '', name = ''] = new URL(req.url ?? '/', 'https://node').pathname.slice(1).split('/');
  const refuse = (status: string, why: string): void =>
    void socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: ${why.length + 1}\r\n\r\n${why}\n`);
  if (!(req.socket as TLSSocket).authorized) return refuse('401 Unauthorized', unknownClient);
  if (route !== 'portForward' || req.headers.upgrade?.toLowerCase() !== 'websocket')
    return refuse('501 Not Implemented', lacks(route));
  const worker = options.findPod(namespace, name);
  if (!worker) return refuse('404 Not Found', `pod ${namespace}/${name} is not on this node`);
  servePortForward(
    req,
    socket,
    (port) =>
      new Promise((resolve, reject) => {
        const pod = connect({ host: worker.podIP, port, localAddress: '127.0.0.1' });
        pod.once('connect', () => resolve(pod)).once('error', reject);
      }),
  );
}

function answer(options: LogServerOptions, req: IncomingMessage, res: ServerResponse): void {
  const url = new URL(req.url ?? '/', 'https://node');
  const [route, namespace = '', pod = '', container = ''] = url.pathname.slice(1).split('/');
  const fail = (status: number, message: string): void => void res.writeHead(status).end(`${message}\n`);
  if (!(req.socket as TLSSocket).authorized) return fail(401, unknownClient);
  if (route === 'healthz') return void res.end('ok');
  if (route === 'exec' || route === 'attach' || route === 'portForward' || route === 'run') {
    return fail(501, lacks(route));
  }
  if (route !== 'containerLogs' || req.method !== 'GET') return fail(404, 'not found');
  const worker = options.findPod(namespace, pod);
  if (!worker) return fail(404, `pod ${namespace}/${pod} is not on this node`);
  const previous = url.searchParams.get('previous') === 'true';
  const path = worker.logPath(container, previous);
  if (path === undefined || !(existsSync(path) || existsSync(`${path}.1`))) {
    const what = previous ? 'previous terminated container' : 'container';
    return fail(previous ? 400 : 404, `${what} "${container}" in pod "${pod}" not found`);
  }
  sendLog(worker, container, path, previous, url.searchParams, res);
}

function sendLog(
  worker: PodWorker,
  container: string,
  path: string,
  previous: boolean,
  params: URLSearchParams,
  res: ServerResponse,
): void {
  const format = (line: LogLine): string =>
    `${params.get('timestamps') === 'true' ? `${line.time} ` : ''}${line.text}\n`;
  const live = previous ? undefined : worker.liveLog(container);
  const lines = select(readLog(path), params);
  const limit = Number(params.get('limitBytes') ?? Infinity);
  res.writeHead(200, { 'content-type': 'text/plain' });
  res.write(Buffer.from(lines.map(format).join('')).subarray(0, limit));
  if (params.get('follow') !== 'true' || !live || live.ended) return void res.end();
  res.flushHeaders();
  const stop = live.follow(
    (line) => void res.write(format(line)),
    () => void res.end(),
  );
  res.once('close', stop);
}

function select(lines: LogLine[], params: URLSearchParams): LogLine[] {
  const seconds = params.get('sinceSeconds');
  const time = params.get('sinceTime');
  const since = seconds ? Date.now() - Number(seconds) * 1000 : time ? Date.parse(time) : undefined;
  const recent = since === undefined ? lines : lines.filter((l) => Date.parse(l.time) >= since);
  const tail = params.get('tailLines');
  if (tail === null) return recent;
  return Number(tail) === 0 ? [] : recent.slice(-Number(tail));
}

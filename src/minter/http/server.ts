import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { ServerIdentity } from './server-identity.ts';

/** Bounds of the public listener. Units: ms, bytes. */
const limits = {
  headersTimeout: 5_000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  keepAliveTimeout: 15_000,
  maxHeaderSize: 16 * 1024,
} as const;
const maxConnections = 256;
/** How long a client may go on sending a body that was answered already: cutting at once could lose our answer. */
const lingerMs = 2_000;

/** The public server: HTTP, or HTTPS with an identity. What its parser refuses is answered in our form, with Node's own status for it. */
export function createPublicServer(handler: RequestListener, identity?: ServerIdentity): Server {
  const options = { ...limits, insecureHTTPParser: false, requireHostHeader: true };
  const server = identity
    ? createTlsServer(
        { ...options, ...identity, minVersion: 'TLSv1.2', handshakeTimeout: limits.headersTimeout },
        handler,
      )
    : createServer(options, handler);
  server.maxConnections = maxConnections;
  // Without these, Node would answer an Expect header by itself, before any check of ours.
  server.on('checkExpectation', handler);
  server.on('connect', (_req, socket) => answerRaw(socket as Socket, 405));
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const { _httpMessage: answering } = socket as { _httpMessage?: { headersSent: boolean } };
    if (!socket.writable || answering?.headersSent) socket.destroy();
    else answerRaw(socket as Socket, statusOf(error));
  });
  server.on('request', (req, res) => {
    res.on('finish', () => {
      if (req.complete) return;
      req.resume();
      setTimeout(() => {
        if (!req.complete) req.socket.destroy();
      }, lingerMs).unref();
    });
  });
  return server;
}

/** Node's own mapping of parser errors. */
function statusOf(error: NodeJS.ErrnoException): 400 | 408 | 413 | 431 {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (error.code === 'HPE_HEADER_OVERFLOW') return 431;
  if (error.code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
  return 400;
}

const words = {
  400: ['Bad Request', 'invalid_request', 'the request is not valid HTTP'],
  405: ['Method Not Allowed', 'method_not_allowed', 'this method is not allowed here'],
  408: ['Request Timeout', 'request_timeout', 'the request did not arrive in time'],
  413: ['Payload Too Large', 'payload_too_large', 'the request is too large'],
  431: ['Request Header Fields Too Large', 'headers_too_large', 'the headers are too large'],
} as const;

function answerRaw(socket: Socket, status: keyof typeof words): void {
  const [text, error, message] = words[status];
  const id = randomUUID();
  const body = JSON.stringify({ error, message, request_id: id });
  const head = [
    `HTTP/1.1 ${status} ${text}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${id}`,
    ...(status === 405 ? ['Allow: POST'] : []),
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { createHttpServer, type DoorOptions, type HttpHandler, type RefusalForm } from '../../net/http/index.ts';
import { createTlsServer } from '../../net/https-server.ts';
import type { TlsSource } from '../../net/tls-material.ts';

/**
 * Limits of the public listener. Units: ms, bytes. There is room for 200 requests a second while each of them waits the
 * four seconds that a request may take. `/version`, the path of the probes, is always served: `requests` is less than
 * `connections`, and a request that is still arriving is dropped for a new one.
 */
const limits = {
  requestMs: 10_000,
  keepAliveMs: 15_000,
  targetBytes: 4 * 1024,
  headerBytes: 16 * 1024,
  connections: 1_000,
  connectionsPerAddress: 500,
  requests: 800,
  reservedPaths: ['/version'],
} as const;

/** The public server: HTTP, or HTTPS with a certificate. Its own refusals have the form of `/token` answers. */
export function createPublicServer(handler: HttpHandler, tls?: TlsSource, door: DoorOptions = {}): Server {
  const options = { ...door, limits, form: refusalForm };
  return tls ? createTlsServer(tls, handler, options) : createHttpServer(handler, options);
}

const codes = {
  400: 'invalid_request',
  405: 'method_not_allowed',
  408: 'request_timeout',
  413: 'payload_too_large',
  414: 'invalid_request',
  431: 'headers_too_large',
  500: 'internal_error',
  503: 'overloaded',
} as const;

const refusalForm: RefusalForm = ({ status, message }) => {
  const id = randomUUID();
  return {
    type: 'application/json; charset=utf-8',
    body: JSON.stringify({ error: codes[status], message, request_id: id }),
    headers: {
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': id,
      ...(status === 405 ? { Allow: 'POST' } : {}),
    },
  };
};

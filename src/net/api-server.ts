import type { Server } from 'node:https';
import type { HttpHandler, DoorOptions } from './http/index.ts';
import { createTlsServer } from './https-server.ts';
import type { TlsSource } from './tls-material.ts';

/**
 * An HTTPS server that speaks HTTP/2 and HTTP/1.1 on one port, as the client chooses by ALPN, and follows certificate
 * rotation without dropping connections. It requests no client certificate.
 */
export function createApiServer(source: TlsSource, handler: HttpHandler, options: DoorOptions = {}): Server {
  return createTlsServer(source, handler, { ...options, http2: 'handler' });
}

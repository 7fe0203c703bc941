import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { DoorOptions, HttpHandler } from './http/index.ts';
import { createTlsServer } from './https-server.ts';
import type { TlsSource } from './tls-material.ts';

export interface AlpnOptions extends DoorOptions {
  /** Subject CNs of the client certificates that may call. */
  readonly clientNames: readonly string[];
  /** Takes over a connection that negotiated h2. `allowed` is false for a client that is not in the list. */
  readonly onHttp2: (socket: TLSSocket, allowed: boolean) => void;
}

/**
 * One TLS port for two protocols, selected by ALPN: h2 connections go to `onHttp2`, all others are HTTP/1.1 requests to
 * `handler`. Client certificates and their rotation as in `createTlsServer`.
 */
export function createAlpnServer(source: TlsSource, handler: HttpHandler, options: AlpnOptions): Server {
  const { onHttp2, ...rest } = options;
  return createTlsServer(source, handler, { ...rest, http2: onHttp2 });
}

import type { RequestListener } from 'node:http';
import type { Server } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { createTlsServer } from './https-server.ts';
import type { TlsSource } from './tls-material.ts';

export interface AlpnOptions {
  /** Subject CNs of the client certificates that may call. */
  readonly clientNames: readonly string[];
  /** Takes over a connection that negotiated h2. `allowed` is false for a client that is not in the list. */
  readonly onHttp2: (socket: TLSSocket, allowed: boolean) => void;
}

/**
 * One TLS port for two protocols, told apart by ALPN: h2 connections go to `onHttp2`, all others are HTTP/1.1 requests
 * to `handler`. Client certificates and their rotation as in `createTlsServer`.
 */
export function createAlpnServer(source: TlsSource, handler: RequestListener, options: AlpnOptions): Server {
  const server = createTlsServer(source, handler, {
    clientNames: options.clientNames,
    alpnProtocols: ['h2', 'http/1.1'],
  });
  const http1 = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  const open = new Set<TLSSocket>();
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol !== 'h2') {
      for (const listener of http1) listener.call(server, socket);
      return;
    }
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => {}); // the connection ends; who reads from it is told by its own protocol
    const cn = socket.getPeerCertificate().subject?.CN;
    const name = Array.isArray(cn) ? cn[0] : cn;
    options.onHttp2(socket, socket.authorized && options.clientNames.includes(name ?? ''));
  });
  const closeHttp1 = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    for (const socket of open) socket.destroy();
    closeHttp1();
  };
  return server;
}

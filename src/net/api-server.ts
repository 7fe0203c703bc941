import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, ServerHttp2Session } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { serverLimits } from './https-server.ts';
import type { TlsSource } from './tls-material.ts';

/**
 * An HTTPS server that speaks HTTP/2 and HTTP/1.1 on one port, as the client chooses by ALPN, and follows certificate
 * rotation without dropping connections. It asks for no client certificate.
 * The handler gets Node's HTTP/1 objects, or those of HTTP/2's compatibility layer (`req.httpVersionMajor` tells).
 */
export function createApiServer(
  source: TlsSource,
  handler: (req: IncomingMessage, res: ServerResponse) => void,
): Http2SecureServer & { closeIdleConnections(): void; closeAllConnections(): void } {
  const secure = (): { cert: string; key: string; ca: string } => ({ ...source.current });
  const server = createSecureServer({
    ...secure(),
    ...serverLimits,
    allowHTTP1: true,
    // As an HTTPS server has it from the start: else the end of an answer in several writes waits some 40 ms for the
    // client's delayed acknowledgement of what came before.
    noDelay: true,
    // A client that follows a stream and is gone without a word is noticed.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    minVersion: 'TLSv1.2',
    settings: { maxConcurrentStreams: 250 },
  });
  server.on('request', (req, res) => handler(req as unknown as IncomingMessage, res as unknown as ServerResponse));
  const unsubscribe = source.onChange(() => server.setSecureContext(secure()));
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => {}); // the session ends; its requests see that they are closed
  });
  server.on('close', unsubscribe);
  const sockets = new Set<{ destroy(): void }>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const http1 = server as unknown as { closeIdleConnections?(): void };
  const closeIdle = http1.closeIdleConnections?.bind(server);
  return Object.assign(server, {
    closeIdleConnections: () => {
      closeIdle?.();
      for (const session of sessions) session.close();
    },
    closeAllConnections: () => {
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
    },
  });
}

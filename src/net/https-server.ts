import { createServer as createHttpsServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Door, type DoorOptions, type HttpHandler } from './http/door.ts';
import { installDoor } from './http/http-server.ts';
import { nodeOptions } from './http/limits.ts';
import { acceptMessages, type MessageRoute } from './message-socket.ts';
import type { TlsSource } from './tls-material.ts';
import { VerifiedClients } from './verified-clients.ts';

/** CAs of optional client certificates, PEM; a client need not show one. */
export interface ClientTrust {
  readonly ca: string;
  /** Calls back after each change; the returned function unsubscribes. */
  onChange(fn: () => void): () => void;
}

export interface TlsServerOptions extends DoorOptions {
  /**
   * Subject CNs of the clients that may call, with certificates of our CA. A client with another CN gets 403; without a
   * certificate the handshake fails.
   */
  readonly clientNames?: readonly string[] | undefined;
  /** CAs of optional client certificates; the handler checks the certificate. Not with `clientNames`. */
  readonly clients?: ClientTrust;
  /**
   * Serves connections that negotiated h2: the same handler, or another protocol, which takes over the socket
   * (`allowed` is false for a client that is not in `clientNames`). Absent: HTTP/1.1 only.
   */
  readonly http2?: 'handler' | ((socket: TLSSocket, allowed: boolean) => void);
  /** Accepts WebSockets on one path, only from clients that may call. */
  readonly messages?: MessageRoute;
}

/**
 * An HTTPS server that follows certificate rotation, behind the common entry (`http/`). A rotation ends only connections
 * whose client certificate is of an authority that is trusted no more; a connection also ends with the life of its
 * client certificate. On HTTP/2 (`req.httpVersionMajor` is 2) the handler gets the objects of Node's compatibility layer.
 */
export function createTlsServer(source: TlsSource, handler: HttpHandler, options: TlsServerOptions = {}): Server {
  const { clientNames: names, clients, http2, messages } = options;
  const isAllowed = (req: IncomingMessage): boolean => !names || names.includes(peerName(req) ?? '');
  const guarded: HttpHandler = names ? (req, res) => (isAllowed(req) ? handler(req, res) : refuse(req, res)) : handler;
  const secure = (): { cert: string; key: string; ca: string | string[] } =>
    // An empty list, not an absent one: an absent list would mean every public CA.
    clients ? { ...source.current, ca: clients.ca === '' ? [] : clients.ca } : { ...source.current };
  const door = new Door(guarded, { ...options, ...(messages ? { upgrade: acceptMessages(messages) } : {}) });
  const server = createHttpsServer({
    ...secure(),
    ...nodeOptions(door.limits),
    handshakeTimeout: door.limits.headersMs,
    // A request on another path, or of a client that may not call, is answered as if it asked for no upgrade.
    ...(messages
      ? { shouldUpgradeCallback: (req: IncomingMessage) => req.url === messages.path && isAllowed(req) }
      : {}),
    ...(http2 ? { ALPNProtocols: ['h2', 'http/1.1'] } : {}),
    minVersion: 'TLSv1.2',
    requestCert: names !== undefined || clients !== undefined,
    rejectUnauthorized: names !== undefined,
  });
  if (http2) splitByProtocol(server, (socket) => acceptHttp2(door, socket, options));
  installDoor(server, door);
  const verified = new VerifiedClients((socket) => door.part(socket));
  server.on('secureConnection', (socket: TLSSocket) => verified.follow(socket));
  const renew = (): void => {
    server.setSecureContext(secure());
    verified.judge((clients ?? source.current).ca);
  };
  server.on('close', source.onChange(renew));
  if (clients) server.on('close', clients.onChange(renew));
  return server;
}

/** Takes connections that negotiated h2 away from the HTTP/1.1 parser. */
function splitByProtocol(server: Server, onHttp2: (socket: TLSSocket) => void): void {
  const http1 = server.listeners('secureConnection') as ((socket: TLSSocket) => void)[];
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol !== 'h2') for (const listener of http1) listener.call(server, socket);
    // The common entry (`Door`) gets the same event after this listener, and has to know the connection first.
    else process.nextTick(onHttp2, socket);
  });
}

function acceptHttp2(door: Door, socket: TLSSocket, { http2, clientNames }: TlsServerOptions): void {
  const place = door.placeOf(socket);
  if (!place || socket.destroyed) return void socket.destroy();
  if (http2 === 'handler') return door.http2.accept(socket, place);
  socket.on('error', () => {}); // the connection ends; its reader is notified by its own protocol
  const cn = socket.getPeerCertificate().subject?.CN;
  const name = Array.isArray(cn) ? cn[0] : cn;
  http2?.(socket, !clientNames || (socket.authorized && clientNames.includes(name ?? '')));
}

/** Names of connections whose certificate was read: a certificate does not change during its connection. */
const knownNames = new WeakMap<TLSSocket, string | undefined>();

/** Subject CN of the verified client certificate, or undefined on a connection without one. */
export function peerName(req: IncomingMessage): string | undefined {
  const socket = req.socket as TLSSocket;
  if (typeof socket.getPeerCertificate !== 'function' || !socket.authorized) return undefined;
  if (knownNames.has(socket)) return knownNames.get(socket);
  const cn = socket.getPeerCertificate().subject?.CN;
  const name = Array.isArray(cn) ? cn[0] : cn;
  knownNames.set(socket, name);
  return name;
}

function refuse(req: IncomingMessage, res: ServerResponse): void {
  const body = JSON.stringify({
    code: 'forbidden',
    message: `client certificate ${JSON.stringify(peerName(req) ?? '')} may not call this port`,
  });
  res.writeHead(403, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  res.end(body);
}

/**
 * An HTTPS server that speaks HTTP/2 and HTTP/1.1 on one port, as the client chooses by ALPN, and follows certificate
 * rotation without dropping connections. It requests no client certificate.
 */
export function createApiServer(source: TlsSource, handler: HttpHandler, options: DoorOptions = {}): Server {
  return createTlsServer(source, handler, { ...options, http2: 'handler' });
}

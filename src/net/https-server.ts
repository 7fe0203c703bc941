import { createServer as createHttpsServer, type Server } from 'node:https';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { isIPv4 } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { TlsSource } from './tls-material.ts';

/** Bounds that every HTTP server of ours has: slow or huge requests are cut by Node itself. */
export const serverLimits = {
  headersTimeout: 5_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16 * 1024,
} as const;

/** CAs of clients that may show a certificate, PEM; none of them has to. */
export interface ClientTrust {
  readonly ca: string;
  /** Calls back after each change; the returned function unsubscribes. */
  onChange(fn: () => void): () => void;
}

/**
 * An HTTPS server that follows certificate rotation without dropping connections.
 * With `clientNames` it demands a client certificate of our CA whose subject CN is in the list; others get 403.
 * With `clients` it asks for a certificate of those CAs instead, and leaves it to the handler to judge what came.
 */
export function createTlsServer(
  source: TlsSource,
  handler: RequestListener,
  options: { clientNames?: readonly string[]; clients?: ClientTrust; alpnProtocols?: readonly string[] } = {},
): Server {
  const names = options.clientNames;
  const guarded: RequestListener = names
    ? (req, res) => (names.includes(peerName(req) ?? '') ? handler(req, res) : refuse(req, res))
    : handler;
  const { clients } = options;
  const secure = (): { cert: string; key: string; ca: string | string[] } =>
    // An empty list, not an absent one: that would mean every public CA.
    clients ? { ...source.current, ca: clients.ca === '' ? [] : clients.ca } : { ...source.current };
  const server = createHttpsServer(
    {
      ...secure(),
      ...serverLimits,
      ...(options.alpnProtocols ? { ALPNProtocols: [...options.alpnProtocols] } : {}),
      minVersion: 'TLSv1.2',
      requestCert: names !== undefined || clients !== undefined,
      rejectUnauthorized: names !== undefined,
    },
    guarded,
  );
  const renew = (): void => server.setSecureContext(secure());
  server.on('close', source.onChange(renew));
  if (clients) server.on('close', clients.onChange(renew));
  return server;
}

/** Names of connections that were asked for one: a certificate stays the same as long as its connection. */
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

/** True when the other end is this machine's (or pod's) own loopback interface. */
export function isLoopback(address: string | undefined): boolean {
  if (!address) return false;
  if (address === '::1') return true;
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  return isIPv4(plain) && plain.startsWith('127.');
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

import { checkServerIdentity as nameFault, connect, createSecureContext } from 'node:tls';
import type { PeerCertificate, SecureContext, TLSSocket } from 'node:tls';
import { OperatorError } from '../../base/errors.ts';
import type { TlsSource } from '../tls-material.ts';

/** Maximum length of a peer's name in a message, in characters. */
const maxShownName = 253;
/** Most connections to one peer; further exchanges wait for one. */
const maxConnections = 64;
/** Most peers whose session is kept. */
const maxSessions = 100;
/** How long an idle connection is kept: shorter than our servers do. Units: ms. */
const maxIdleMs = 60_000;

/** A peer by address, and the names that its certificate may carry. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
  readonly servername: string;
  readonly sharedName?: string;
}

/** What has a connection for as long as its exchange lasts. */
export interface Occupant {
  /** The connection is there, and its peer is who it should be. */
  ready(connection: Connection): void;
  data(bytes: Buffer): void;
  /** The connection is gone; `cause` is undefined when the peer closed it. Nothing follows. */
  closed(cause: Error | undefined): void;
}

/** A connection and the exchange that has it now. */
export class Connection {
  readonly socket: TLSSocket;
  /** It has served an exchange before. */
  isUsed = false;
  occupant: Occupant | undefined;
  cause: Error | undefined;
  readonly release: (reusable: boolean) => void;

  constructor(socket: TLSSocket, release: (connection: Connection, reusable: boolean) => void) {
    this.socket = socket;
    this.release = (reusable) => release(this, reusable);
  }
}

interface Peer {
  readonly address: PeerAddress;
  readonly idle: Connection[];
  /** Connections that are open or being opened. */
  count: number;
  readonly waiting: Occupant[];
}

/**
 * Kept connections that share one certificate, by peer.
 * They are keyed by address and requested names: neither a kept connection nor a resumed session serves a request for
 * another name, because a certificate is checked only when a session begins.
 * Guarantees: an occupant hears of a connection only after the peer's certificate was checked.
 */
export class Connections {
  readonly #context: SecureContext;
  readonly #anyServer: boolean;
  readonly #open = new Set<TLSSocket>();
  readonly #peers = new Map<string, Peer>();
  /** For a shorter handshake of a peer's next connection; the newest last. */
  readonly #sessions = new Map<string, Buffer>();
  #isRetired = false;

  constructor({ current: { cert, key, ca } }: TlsSource, anyServer: boolean) {
    // Shared by all connections: reading the certificates anew for each costs as much as a handshake.
    this.#context = createSecureContext({ cert, key, ca, minVersion: 'TLSv1.2' });
    this.#anyServer = anyServer;
  }

  /** Gives the occupant a connection, at once or later. Returns what takes it out of the line while it waits. */
  enter(address: PeerAddress, occupant: Occupant): () => void {
    const peer = this.#peerOf(address);
    // The longest idle one: a long poll then keeps alive, beside its own connection, the one for the next request.
    for (let kept = peer.idle.shift(); kept !== undefined; kept = peer.idle.shift()) {
      if (kept.socket.destroyed || !kept.socket.writable) continue;
      kept.socket.ref();
      kept.isUsed = true;
      kept.occupant = occupant;
      occupant.ready(kept);
      return noop;
    }
    if (peer.count < maxConnections) {
      const opening = this.#connect(peer, occupant);
      return () => void opening.socket.destroy();
    }
    peer.waiting.push(occupant);
    return () => {
      const at = peer.waiting.indexOf(occupant);
      if (at >= 0) peer.waiting.splice(at, 1);
    };
  }

  /** Closes the peer's idle connections. */
  forgetIdle(address: PeerAddress): void {
    const peer = this.#peers.get(peerKey(address));
    for (const { socket } of peer?.idle.splice(0) ?? []) socket.destroy();
  }

  /** Closes idle connections; those in use are closed as their exchanges end. */
  retire(): void {
    this.#isRetired = true;
    for (const peer of this.#peers.values()) for (const { socket } of peer.idle.splice(0)) socket.destroy();
  }

  /** Closes all connections: their exchanges fail. */
  close(): void {
    this.retire();
    for (const socket of this.#open) socket.destroy();
  }

  #peerOf(address: PeerAddress): Peer {
    const key = peerKey(address);
    let peer = this.#peers.get(key);
    if (peer === undefined) {
      peer = { address, idle: [], count: 0, waiting: [] };
      this.#peers.set(key, peer);
    }
    return peer;
  }

  #connect(peer: Peer, occupant: Occupant): Connection {
    const { host, port, servername, sharedName } = peer.address;
    const key = peerKey(peer.address);
    const session = this.#sessions.get(key);
    const socket = connect({
      host,
      port,
      servername,
      secureContext: this.#context,
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: !this.#anyServer,
      checkServerIdentity: (name, cert) => identityFault(name, sharedName, cert),
      ...(session === undefined ? {} : { session }),
    });
    const connection = new Connection(socket, (one, reusable) => this.#release(peer, one, reusable));
    connection.occupant = occupant;
    peer.count++;
    this.#open.add(socket);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 1_000);
    socket.on('session', (fresh) => this.#keepSession(key, fresh));
    socket.once('secureConnect', () => connection.occupant?.ready(connection));
    socket.on('data', (bytes: Buffer) => {
      if (connection.occupant === undefined) socket.destroy();
      else connection.occupant.data(bytes);
    });
    socket.on('error', (error) => (connection.cause ??= error));
    socket.on('timeout', () => {
      if (connection.occupant === undefined) socket.destroy();
    });
    socket.setTimeout(maxIdleMs);
    socket.once('close', () => {
      if (connection.cause !== undefined) this.#sessions.delete(key);
      this.#gone(peer, connection);
    });
    return connection;
  }

  #keepSession(key: string, session: Buffer): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    if (this.#sessions.size > maxSessions) this.#sessions.delete(this.#sessions.keys().next().value!);
  }

  #gone(peer: Peer, connection: Connection): void {
    peer.count--;
    this.#open.delete(connection.socket);
    const at = peer.idle.indexOf(connection);
    if (at >= 0) peer.idle.splice(at, 1);
    const { occupant } = connection;
    connection.occupant = undefined;
    occupant?.closed(connection.cause);
    const next = peer.waiting.shift();
    if (next !== undefined) this.#connect(peer, next);
    if (peer.count === 0 && peer.waiting.length === 0) this.#peers.delete(peerKey(peer.address));
  }

  #release(peer: Peer, connection: Connection, reusable: boolean): void {
    const { socket } = connection;
    connection.occupant = undefined;
    if (!reusable || this.#isRetired || socket.destroyed || !socket.writable) return void socket.destroy();
    const next = peer.waiting.shift();
    if (next === undefined) {
      socket.unref();
      peer.idle.push(connection);
      return;
    }
    connection.isUsed = true;
    connection.occupant = next;
    next.ready(connection);
  }
}

function noop(): void {}

function peerKey({ host, port, servername, sharedName = '' }: PeerAddress): string {
  return `${host}:${port}:${servername}:${sharedName}`;
}

/** Why a certificate with a verified authority does not belong to the requested peer. */
function identityFault(name: string, sharedName: string | undefined, cert: PeerCertificate): Error | undefined {
  const fault = nameFault(name, cert);
  if (!fault) return undefined;
  const found = (cert.subjectaltname ?? '').split(', ').flatMap((entry) => /^DNS:(.*)$/.exec(entry)?.[1] ?? []);
  const isShared =
    sharedName !== undefined && found.includes(sharedName) && !found.some((name) => name.endsWith(`.${sharedName}`));
  if (isShared) return undefined;
  // The longest name says most: the others are parts of it.
  const shown = found.toSorted((a, b) => b.length - a.length)[0] ?? 'nobody';
  const message = `the certificate is of ${shown.slice(0, maxShownName)}, not of ${name}`;
  return new OperatorError('ERR_PEER_IDENTITY', message, { cause: fault });
}

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Server as TlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { errorText } from '../../base/errors.ts';
import { silentLogger, type Logger } from '../../base/logger.ts';
import { sourceStack } from '../../base/source-stack.ts';
import { originForm } from '../../base/request-target.ts';
import { hasArrived, Http2Sessions } from './http2-sessions.ts';
import { defaultLimits, type HttpLimits } from './limits.ts';
import type { HttpServerMetrics } from './metrics.ts';
import { peerAddress } from './peer-address.ts';
import { Places, type Place } from './places.ts';
import {
  plainForm,
  refusalOf,
  sendRawRefusal,
  sendRefusal,
  type Refusal,
  type RefusalForm,
  type RefusalReason,
} from './refusal.ts';

/** Answers a request. A throw or a rejected promise is answered with 500. */
export type HttpHandler = (req: IncomingMessage, res: ServerResponse) => unknown;

export interface DoorOptions {
  /** The listener in logs and metrics, such as `scrape`. */
  readonly name?: string;
  readonly logger?: Logger;
  readonly metrics?: HttpServerMetrics | undefined;
  readonly limits?: Partial<HttpLimits>;
  /** How refusals are written. Default: a line of plain text. */
  readonly form?: RefusalForm;
  /** Takes over the connection of a request that asks for an upgrade. Absent: such a request is like any other. */
  readonly upgrade?: (req: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** One connection and the state of its requests. */
interface Connection extends Place {
  readonly inFlight: Set<IncomingMessage>;
  /** Set by `close` and `part`: requests that the parser still delivers are then not served. */
  closed: boolean;
  /** Set by `part`: ends the connection once everything is sent. */
  leave?: () => void;
}

/**
 * The entry of one HTTP server: limits, refusals and the last resort for errors of a handler.
 *
 * Guarantees: a handler sees requests whose target is in origin form and within the limits; any throw or rejection
 * becomes one answer (500, or a cut connection when an answer had begun), one log line and one count.
 * Caveats: an error that a handler throws in a later turn of the event loop, outside its promise, cannot be caught:
 * handlers return the promise of their work.
 */
export class Door {
  readonly limits: HttpLimits;
  readonly #name: string;
  readonly #logger: Logger;
  readonly #metrics: HttpServerMetrics | undefined;
  readonly #form: RefusalForm;
  readonly #handler: HttpHandler;
  readonly #upgrade: DoorOptions['upgrade'];
  readonly #places: Places;
  readonly #bySocket = new WeakMap<object, Connection>();
  /** A TLS connection is announced twice, as two objects, raw and secure; both have the same remote end. */
  readonly #byPeer = new Map<string, Connection>();
  readonly http2: Http2Sessions;
  #draining = false;

  constructor(handler: HttpHandler, options: DoorOptions) {
    this.limits = { ...defaultLimits, ...options.limits };
    this.#name = options.name ?? 'http';
    this.#logger = options.logger ?? silentLogger;
    this.#metrics = options.metrics;
    this.#form = options.form ?? plainForm;
    this.#handler = handler;
    this.#upgrade = options.upgrade;
    this.#places = new Places(this.limits);
    this.#metrics?.declare(this.#name);
    this.http2 = new Http2Sessions({
      limits: this.limits,
      serve: (req, res, place) => this.#serve(req, res, place as Connection),
      refused: (reason) => this.#count(reason),
    });
  }

  /** Makes this the entry of a server that has no listeners of its own yet. */
  guard(server: Server | TlsServer): void {
    const { stalledMs } = this.limits;
    server.on('connection', (socket: Socket) => void this.enter(socket));
    server.on('secureConnection', (socket: TLSSocket) => this.#identify(socket));
    const serve = (req: IncomingMessage, res: ServerResponse): void =>
      this.#serve(req, res, this.#bySocket.get(req.socket));
    server.on('request', serve);
    // Without these listeners, Node would answer an Expect header before any check of ours, and leave CONNECT open.
    server.on('checkExpectation', serve);
    if (this.#upgrade) server.on('upgrade', (req, socket, head) => this.#handOver(req, socket, head));
    server.on('connect', (_req: IncomingMessage, socket: Duplex) => this.#refuseRaw(socket, refusalOf(405)));
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => this.#clientError(error, socket));
    server.setTimeout(stalledMs, (socket) => this.#quiet(socket));
  }

  /** The counted connection of a socket, for protocols that are served elsewhere; undefined if it is not counted. */
  placeOf(socket: object): Place | undefined {
    return this.#bySocket.get(socket);
  }

  /** From now on each answer is the last of its connection. New connections are still served. */
  drain(): void {
    this.#draining = true;
    this.http2.drain();
  }

  /** Serves no further request of a connection, and ends it after its answers, after `partingMs` at the latest. */
  part(socket: TLSSocket): void {
    const connection = this.#bySocket.get(socket);
    if (!connection || connection.busy === 0) return void socket.destroy();
    if (connection.leave) return;
    connection.closed = true;
    connection.leave = () => socket.destroySoon();
    const cut = setTimeout(() => socket.destroy(), this.limits.partingMs).unref();
    socket.once('close', () => clearTimeout(cut));
  }

  /** Ends every connection immediately. */
  destroyAll(): void {
    this.http2.destroyAll();
    for (const place of this.#places.all()) place.close();
  }

  /** Admits a connection, or ends it when the listener has as many as it may have. */
  enter(socket: Socket): boolean {
    const peer = peerOf(socket);
    const connection: Connection = {
      address: peerAddress(socket) ?? '',
      busy: 0,
      inFlight: new Set(),
      closed: false,
      arriving: () => ![...connection.inFlight].some(isWhole),
      close: () => {
        connection.closed = true;
        socket.destroy();
      },
    };
    const { entered, evicted } = this.#places.enter(connection);
    if (!entered || evicted) this.#count('connections');
    if (!entered) {
      socket.destroy();
      return false;
    }
    this.#bySocket.set(socket, connection);
    this.#byPeer.set(peer, connection);
    this.#metrics?.connections(this.#name, this.#places.count);
    socket.once('close', () => {
      this.#places.leave(connection);
      if (this.#byPeer.get(peer) === connection) this.#byPeer.delete(peer);
      this.#metrics?.connections(this.#name, this.#places.count);
    });
    return true;
  }

  #identify(socket: TLSSocket): void {
    const connection = this.#byPeer.get(peerOf(socket));
    if (connection) this.#bySocket.set(socket, connection);
    else socket.destroy(); // it was closed between its two announcements
  }

  #serve(req: IncomingMessage, res: ServerResponse, connection: Connection | undefined): void {
    req.on('error', ignore);
    res.on('error', ignore); // such as a write after the end: the caller has its answer, or has disconnected
    if (!connection || connection.closed) return void res.destroy();
    const http1 = req.httpVersionMajor < 2;
    if (http1) this.#limitRest(req, res);
    if (http1 && connection.busy >= this.limits.pipelined) {
      this.#count('flood');
      return connection.close();
    }
    const refusal = this.#judge(req);
    this.#places.begin(connection);
    connection.inFlight.add(req);
    res.once('close', () => {
      connection.inFlight.delete(req);
      this.#places.end(connection);
      if (connection.busy === 0) connection.leave?.();
    });
    if (refusal) return this.#refuse(req, res, refusal);
    if (this.#draining && http1) res.setHeader('connection', 'close');
    try {
      const work = this.#handler(req, res);
      if (isPromise(work)) work.then(undefined, (error: unknown) => this.#failed(req, res, error));
    } catch (error) {
      this.#failed(req, res, error);
    }
  }

  /** Passes the socket to `upgrade`. Its connection counts as busy until it ends, so that it is not closed as idle. */
  #handOver(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const connection = this.#bySocket.get(socket);
    if (!connection || connection.closed) return void socket.destroy();
    const refusal = this.#judge(req);
    if (refusal) return this.#refuseRaw(socket, refusal);
    this.#places.begin(connection);
    connection.inFlight.add(req);
    try {
      this.#upgrade?.(req, socket, head);
    } catch (error) {
      this.#count('failed');
      this.#logger.error('upgrade failed', {
        listener: this.#name,
        error: errorText(error),
        stack: sourceStack(error),
      });
      socket.destroy();
    }
  }

  #judge(req: IncomingMessage): Refusal | undefined {
    const { limits } = this;
    const target = req.url ?? '';
    // A request line without a version is HTTP/0.9, which has no headers to identify a caller by.
    if (req.httpVersionMajor < 1) return refusalOf(400);
    if (target.length > limits.targetBytes) return refusalOf(414);
    let size = 0;
    for (const text of req.rawHeaders) size += text.length + 2;
    if (size > limits.headerBytes) return refusalOf(431);
    const origin = originForm(target);
    if (origin === undefined) return refusalOf(400);
    if (origin !== target) req.url = origin;
    if (this.#places.busy < limits.requests || limits.reservedPaths.includes(origin.split('?', 1)[0]!))
      return undefined;
    return this.#places.evictArriving() ? undefined : refusalOf(503);
  }

  #failed(req: IncomingMessage, res: ServerResponse, error: unknown): void {
    this.#count('failed');
    this.#logger.error('request failed', {
      listener: this.#name,
      method: req.method,
      path: (req.url ?? '').split('?', 1)[0]!.slice(0, 200),
      error: errorText(error),
      stack: sourceStack(error),
    });
    if (res.headersSent) res.destroy();
    else sendRefusal(req, res, refusalOf(500), this.#form);
  }

  #refuse(req: IncomingMessage, res: ServerResponse, refusal: Refusal): void {
    this.#count(refusal.reason);
    sendRefusal(req, res, refusal, this.#form);
  }

  #refuseRaw(socket: Duplex, refusal: Refusal): void {
    this.#count(refusal.reason);
    const { lingerMs } = this.limits;
    sendRawRefusal(socket, refusal, this.#form);
    const cut = setTimeout(() => socket.destroy(), lingerMs).unref();
    socket.once('close', () => clearTimeout(cut));
    socket.on('error', ignore);
  }

  /** Answers requests that the parser refuses or that arrive too slowly. The status is that of Node itself, or 414. */
  #clientError(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Duplex): void {
    const status = this.#statusOf(error);
    if (status === undefined) {
      if (/^ERR_(SSL|TLS)_/.test(error.code ?? '')) this.#count('malformed');
      return void socket.destroy();
    }
    const { _httpMessage: answering } = socket as { _httpMessage?: { headersSent: boolean } | null };
    if (socket.writable && !answering?.headersSent) return this.#refuseRaw(socket, refusalOf(status));
    this.#count(refusalOf(status).reason);
    socket.destroy();
  }

  #statusOf({ code = '', rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer }): Refusal['status'] | undefined {
    if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
    if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413;
    if (code === 'HPE_HEADER_OVERFLOW') {
      const line = rawPacket?.indexOf('\n') ?? 0;
      const isTarget = /^[A-Z]+ /.test(rawPacket?.toString('latin1', 0, 16) ?? '');
      return isTarget && (line < 0 || line > this.limits.targetBytes) ? 414 : 431;
    }
    return code.startsWith('HPE_') ? 400 : undefined;
  }

  /** Handles a connection without progress: it is idle, its caller does not read, or its stream has nothing to send. */
  #quiet(socket: Duplex & { setTimeout(ms: number): unknown }): void {
    const busy = this.#bySocket.get(socket)?.busy ?? 0;
    if (busy > 0 && socket.writableLength === 0) return void socket.setTimeout(this.limits.stalledMs);
    if (busy > 0) this.#count('timeout');
    socket.destroy();
  }

  /** Reads and drops the rest of an answered request for a while: an immediate end could lose the answer. */
  #limitRest(req: IncomingMessage, res: ServerResponse): void {
    // An aborted request has no socket any more.
    const { socket } = req;
    res.once('finish', () => {
      if (req.complete) return;
      req.resume();
      const cut = setTimeout(() => {
        if (!req.complete) socket.destroy();
      }, this.limits.lingerMs).unref();
      req.once('close', () => clearTimeout(cut));
    });
  }

  #count(reason: RefusalReason): void {
    this.#metrics?.refused(this.#name, reason);
  }
}

function ignore(): void {}

function isWhole(req: IncomingMessage | Http2ServerRequest): boolean {
  return 'stream' in req ? hasArrived(req.stream) : req.complete;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function peerOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

import { Agent, request as httpsRequest, type AgentOptions, type RequestOptions } from 'node:https';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import {
  checkServerIdentity as nameFault,
  connect,
  createSecureContext,
  type ConnectionOptions,
  type PeerCertificate,
  type TLSSocket,
} from 'node:tls';
import { OperatorError } from '../base/errors.ts';
import { unanswered } from '../base/wire/http-body.ts';
import { plainTimer, type DeadlineTimer } from './attended-timer.ts';
import { openMessages, type MessageHandlers, type MessageSocket, type SocketRequest } from './message-socket.ts';
import { explain, tooLarge } from './tls-fault.ts';
import type { TlsSource } from './tls-material.ts';

/** Maximum length of a peer's name in a message, in characters. */
const maxShownName = 253;

/** One call to a peer by pod address; its certificate is checked against `servername`, not the address. */
export interface TlsRequest {
  /** IP address (or host) to connect to. */
  host: string;
  port: number;
  /** DNS name that the peer's certificate must carry. */
  servername: string;
  /** A second accepted name. It counts only in a certificate that carries no subdomain of this name. */
  sharedName?: string;
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** Whole, or in pieces that are sent one after the other. */
  body?: Uint8Array | string | readonly Uint8Array[];
  /** Deadline of the whole exchange, connect to last byte. Units: ms. */
  deadlineMs: number;
  /** The latest deadline to which the client's timer may extend `deadlineMs`. Units: ms. Default: `deadlineMs`. */
  latestMs?: number;
  /** Cap on the answer's body. Units: bytes. */
  maxBytes: number;
  signal?: AbortSignal;
  /**
   * The request is idempotent: when the peer closed a kept connection just as the request was sent, the request is
   * repeated once on a new connection.
   */
  repeatable?: boolean;
}

export interface TlsResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TlsStreamResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The body can be read once, by either method. */
  body: TlsBody;
}

/** Chunks as they come. Iteration throws ERR_TIMEOUT, ERR_TOO_LARGE, ERR_ABORTED or ERR_AGENT_UNREACHABLE. */
export interface TlsBody extends AsyncIterable<Buffer> {
  /**
   * Passes each chunk to `use` as it arrives; resolves after the last. For a reader that never waits this costs a
   * fraction of iterating. Errors: those of iteration, and those of `use`, which end the exchange.
   */
  each(use: (chunk: Buffer) => void): Promise<void>;
}

/**
 * Mutual-TLS client with keep-alive, one pool per certificate generation, so a rotation takes effect on the next
 * connection while calls in flight finish on the old one. It repeats only requests marked as repeatable, and only when
 * the connection was already dead.
 */
export class TlsClient {
  readonly #source: TlsSource;
  readonly #timer: DeadlineTimer;
  #agent: Agent | undefined;
  /** Generation of the certificate of `#agent`. */
  #agentGeneration = 0;

  readonly #anyServer: boolean;

  /**
   * `timer` decides when a deadline has passed. `anyServer` skips the check of the peer's certificate: only for calls
   * that send nothing secret and whose answer itself proves who sent it.
   */
  constructor(source: TlsSource, timer = plainTimer, { anyServer = false } = {}) {
    this.#source = source;
    this.#timer = timer;
    this.#anyServer = anyServer;
  }

  /** Sends a request and reads the whole answer. Errors: as for the stream. */
  async request(options: TlsRequest): Promise<TlsResponse> {
    const { status, headers, body } = await this.stream(options);
    const chunks: Buffer[] = [];
    await body.each((chunk) => chunks.push(chunk));
    return { status, headers, body: Buffer.concat(chunks) };
  }

  /** Sends a request and returns the answer's body as a stream. */
  stream(options: TlsRequest): Promise<TlsStreamResponse> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(explain(options.signal.reason, options, false));
      const fail = (cause: unknown): void => {
        end.done();
        reject(explain(cause, options, end.isLate));
      };
      const end: Ending = new Ending(options, this.#timer, () => fail(new Error('no connection was free')));
      const send = (again: boolean): void => {
        let answered = false;
        let failed = false;
        const req = httpsRequest(
          {
            host: options.host,
            port: options.port,
            servername: options.servername,
            method: options.method,
            path: options.path,
            headers: options.headers ?? {},
            agent: this.#pool(),
            ...(options.sharedName === undefined ? {} : { sharedName: options.sharedName }),
          },
          (res) => {
            answered = true;
            res.on('error', () => {}); // the reader of the body gets the error
            res.on('close', () => end.done());
            resolve({ status: res.statusCode ?? 0, headers: res.headers, body: new Body(res, options, end) });
          },
        );
        end.of(req);
        req.on('close', () => {
          if (!answered && !failed) fail(unanswered());
        });
        req.on('error', (cause) => {
          failed = true;
          const dead = options.repeatable === true && req.reusedSocket && !answered && isReset(cause) && !end.isOver;
          if (again || !dead) return fail(cause);
          this.#forgetIdle(options);
          send(true);
        });
        if (!Array.isArray(options.body)) return void req.end(options.body);
        req.cork();
        for (const piece of options.body as readonly Uint8Array[]) req.write(piece);
        req.end();
      };
      send(false);
    });
  }

  /**
   * Opens a connection for messages; null when the peer has no such path. It is not one of the pool, whose bookkeeping
   * would cost several kilobytes for as long as it is open. Errors: as for the stream.
   */
  open(request: SocketRequest, handlers: MessageHandlers): Promise<MessageSocket | null> {
    const { host, port, servername, sharedName } = request;
    const { secureContext, rejectUnauthorized } = this.#pool().options;
    const begin = (): TLSSocket =>
      connect({ host, port, servername, secureContext, rejectUnauthorized, ...identityCheck(sharedName) });
    return openMessages(begin, request, handlers);
  }

  /** Grows with each change of the certificate that later connections use. */
  get generation(): number {
    return this.#source.generation;
  }

  /** Closes the peer's idle connections: they may be dead like the one that failed. */
  #forgetIdle({ host, port, servername, sharedName }: TlsRequest): void {
    const agent = this.#agent;
    const name = poolName({ host, port, servername, ...(sharedName === undefined ? {} : { sharedName }) });
    for (const socket of agent?.freeSockets[name] ?? []) socket.destroy();
  }

  /** Closes all connections of the current pool, also those in use: their calls fail. */
  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  #pool(): Agent {
    if (!this.#agent || this.#agentGeneration !== this.#source.generation) {
      this.#agentGeneration = this.#source.generation;
      const { cert, key, ca } = this.#source.current;
      const old = this.#agent;
      this.#agent = new Pool({
        // Shared by all connections: parsing the certificates for each one costs as much as a handshake.
        secureContext: createSecureContext({ cert, key, ca, minVersion: 'TLSv1.2' }),
        keepAlive: true,
        // First in, first out: a long poll then keeps two connections alive, its own and the one for the next request.
        scheduling: 'fifo',
        rejectUnauthorized: !this.#anyServer,
        maxSockets: 64,
        timeout: 60_000,
      });
      // Sockets in use return to the old pool as their calls end; it closes them after the idle timeout.
      if (old)
        for (const sockets of Object.values(old.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    }
    return this.#agent;
  }
}

interface Peer {
  host?: string | undefined;
  port?: number | string | null | undefined;
  servername?: string | undefined;
  sharedName?: string;
}

/**
 * Connections that share one client certificate. They are pooled by address and requested names; the pool names of Node
 * would contain whole PEM texts. The requested names are part of the pool name: neither a kept connection nor a resumed
 * session serves a request for another name, because Node checks the certificate only when a session begins.
 */
class Pool extends Agent {
  override getName(options: AgentOptions & Peer = {}): string {
    return poolName(options);
  }

  // The check is set here and not on each request: a request with its own check would get its own connection.
  override createConnection(
    options: RequestOptions & Peer,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    return super.createConnection({ ...options, ...identityCheck(options.sharedName) }, callback);
  }
}

function poolName({ host, port, servername, sharedName = '' }: Peer): string {
  return `${host}:${port}:${servername}:${sharedName}`;
}

function identityCheck(sharedName: string | undefined): Required<Pick<ConnectionOptions, 'checkServerIdentity'>> {
  return { checkServerIdentity: (name, cert) => identityFault(name, sharedName, cert) };
}

/** Why a certificate with a verified authority does not belong to the requested peer. */
function identityFault(name: string, sharedName: string | undefined, cert: PeerCertificate): Error | undefined {
  const fault = nameFault(name, cert);
  if (!fault) return undefined;
  const found = (cert.subjectaltname ?? '').split(', ').flatMap((entry) => /^DNS:(.*)$/.exec(entry)?.[1] ?? []);
  const isShared =
    sharedName !== undefined && found.includes(sharedName) && !found.some((name) => name.endsWith(`.${sharedName}`));
  if (isShared) return undefined;
  // The longest name is the most specific one: the others are parts of it.
  const shown = found.toSorted((a, b) => b.length - a.length)[0] ?? 'no name';
  const message = `the certificate is of ${shown.slice(0, maxShownName)}, not of ${name}`;
  return new OperatorError('ERR_PEER_IDENTITY', message, { cause: fault });
}

/**
 * Ends one exchange: at its deadline, or when the caller aborts. An AbortSignal for each request would cost much more.
 */
class Ending {
  isLate = false;
  readonly #signal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  #request: ClientRequest | null = null;
  readonly #abort = (): void => this.#end();
  readonly #whileQueued: () => void;

  /** `whileQueued` is called when the exchange ends before the request has a connection: Node reports that end late. */
  constructor(
    { deadlineMs, latestMs = deadlineMs, signal }: TlsRequest,
    timer: DeadlineTimer,
    whileQueued: () => void,
  ) {
    this.#whileQueued = whileQueued;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#abort, { once: true });
    const late = (): void => {
      this.isLate = true;
      this.#end();
    };
    this.#cancelTimer = timer(late, deadlineMs, latestMs);
  }

  of(request: ClientRequest): void {
    this.#request = request;
  }

  /** True when the deadline has passed or the caller has aborted the exchange. */
  get isOver(): boolean {
    return this.isLate || this.#signal?.aborted === true;
  }

  /** To be called when the exchange is complete: removes the timer and the listener. */
  done(): void {
    this.#cancelTimer();
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  #end(): void {
    this.done();
    const isQueued = this.#request !== null && this.#request.socket === null;
    // Without an error argument: on a connection without listeners, Node would throw it.
    this.#request?.destroy();
    if (isQueued) this.#whileQueued();
  }
}

function isReset(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

/** An answer's body within the limits of its exchange. */
class Body implements TlsBody {
  readonly #res: IncomingMessage;
  readonly #options: TlsRequest;
  readonly #end: Ending;
  #total = 0;

  constructor(res: IncomingMessage, options: TlsRequest, end: Ending) {
    this.#res = res;
    this.#options = options;
    this.#end = end;
  }

  each(use: (chunk: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const res = this.#res;
      let cause: unknown;
      const stop = (error: unknown): void => {
        reject(error);
        res.off('data', take).destroy();
      };
      const take = (chunk: Buffer): void => {
        try {
          this.#count(chunk);
          use(chunk);
        } catch (error) {
          stop(error);
        }
      };
      res.on('data', take);
      res.on('error', (error) => (cause = error));
      const finish = (): void => {
        if (res.complete) resolve();
        else reject(explain(cause ?? brokenOff(), this.#options, this.#end.isLate));
      };
      res.on('end', finish).on('close', finish);
      if (res.closed) finish();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const res = this.#res;
    try {
      for await (const chunk of res as AsyncIterable<Buffer>) {
        this.#count(chunk);
        yield chunk;
      }
      if (!res.complete) throw brokenOff();
    } catch (cause) {
      throw explain(cause, this.#options, this.#end.isLate);
    } finally {
      if (!res.complete) res.destroy();
    }
  }

  #count(chunk: Buffer): void {
    this.#total += chunk.length;
    if (this.#total > this.#options.maxBytes) throw tooLarge(this.#options);
  }
}

function brokenOff(): Error {
  return new Error('connection closed in the middle of the answer');
}

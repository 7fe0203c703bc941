import type { IncomingHttpHeaders } from 'node:http';
import { isOperatorError, OperatorError } from '../base/errors.ts';
import { plainTimer, type DeadlineTimer } from './attended-timer.ts';
import { AnswerReader, type AnswerTarget } from './client/answer-reader.ts';
import { Connections, type Connection, type Occupant } from './client/connections.ts';
import { requestHead } from './client/request-head.ts';
import type { TlsSource } from './tls-material.ts';

/** An answer that nobody reads is let in up to this size. Bytes. */
const unreadBytes = 256 * 1024;

/** One call to a peer of ours by pod address; its certificate is checked against `servername`, not the address. */
export interface TlsRequest {
  /** IP address (or host) to connect to. */
  host: string;
  port: number;
  /** DNS name that the peer's certificate must carry. */
  servername: string;
  /** An alternative name, accepted from a peer whose certificate carries no name below it. */
  sharedName?: string;
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  /** Whole, or in pieces that are sent one after the other. */
  body?: Uint8Array | string | readonly Uint8Array[];
  /** Deadline of the whole exchange, connect to last byte. Units: ms. */
  deadlineMs: number;
  /** How far the client's timer may extend the deadline. Units: ms. Default: not at all. */
  latestMs?: number;
  /** Cap on the answer's body. Units: bytes. */
  maxBytes: number;
  signal?: AbortSignal;
  /**
   * The request is idempotent: when the peer closed a kept connection just as the request was sent, it is repeated once
   * on a new one.
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
 * Mutual-TLS client with kept connections, one pool per certificate generation, so a rotation takes effect on the next
 * connection while calls in flight finish on the old one. It repeats only requests marked as repeatable, and only when
 * the connection was already dead.
 * It writes requests and reads answers by itself: for one small call Node's own HTTP client takes three times the
 * processor time, and the shares of a query are small calls.
 */
export class TlsClient {
  readonly #source: TlsSource;
  readonly #timer: DeadlineTimer;
  readonly #anyServer: boolean;
  #connections: Connections | undefined;
  #generation = 0;

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
    const parts: Buffer[] = [];
    await body.each((part) => parts.push(part));
    return { status, headers, body: Buffer.concat(parts) };
  }

  /** Sends a request and returns the answer's body as a stream. */
  stream(options: TlsRequest): Promise<TlsStreamResponse> {
    return new Promise((resolve, reject) => {
      if (options.signal?.aborted) return reject(explain(options.signal.reason, options, false));
      new Exchange(options, { connections: () => this.#pool(), timer: this.#timer, resolve, reject }).begin();
    });
  }

  /** Closes all connections: what is in flight fails. */
  close(): void {
    this.#connections?.close();
    this.#connections = undefined;
  }

  #pool(): Connections {
    if (!this.#connections || this.#generation !== this.#source.generation) {
      this.#generation = this.#source.generation;
      this.#connections?.retire();
      this.#connections = new Connections(this.#source, this.#anyServer);
    }
    return this.#connections;
  }
}

interface ExchangeDeps {
  readonly connections: () => Connections;
  readonly timer: DeadlineTimer;
  readonly resolve: (response: TlsStreamResponse) => void;
  readonly reject: (error: OperatorError) => void;
}

/**
 * One request and its answer. It ends when the answer is whole, at its deadline, when the caller aborts, or with the
 * connection; then the connection is free, or closed.
 */
class Exchange implements Occupant, AnswerTarget {
  readonly #options: TlsRequest;
  readonly #deps: ExchangeDeps;
  readonly #cancelTimer: () => void;
  readonly #abort = (): void => this.stop(undefined);
  #leave: () => void = () => {};
  #connection: Connection | undefined;
  #reader: AnswerReader | undefined;
  #body: Body | undefined;
  #answered = false;
  #isRepeat = false;
  #isLate = false;
  #isOver = false;

  constructor(options: TlsRequest, deps: ExchangeDeps) {
    this.#options = options;
    this.#deps = deps;
    const { signal, deadlineMs, latestMs = deadlineMs } = options;
    signal?.addEventListener('abort', this.#abort, { once: true });
    const late = (): void => {
      this.#isLate = true;
      this.stop(undefined);
    };
    this.#cancelTimer = deps.timer(late, deadlineMs, latestMs);
  }

  begin(): void {
    try {
      this.#leave = this.#deps.connections().enter(this.#options, this);
    } catch (error) {
      this.stop(error);
    }
  }

  ready(connection: Connection): void {
    this.#connection = connection;
    this.#reader = new AnswerReader(this);
    const { socket } = connection;
    const { body } = this.#options;
    let head: string;
    try {
      head = requestHead(this.#options);
    } catch (error) {
      return this.stop(error);
    }
    if (body === undefined || typeof body === 'string') return void socket.write(head + (body ?? ''));
    socket.cork();
    socket.write(head, 'latin1');
    for (const piece of body instanceof Uint8Array ? [body] : body) socket.write(piece);
    socket.uncork();
  }

  data(bytes: Buffer): void {
    this.#answered = true;
    const reader = this.#reader!;
    try {
      const used = reader.push(bytes);
      // What belongs to no request makes the connection useless, and so does a request that was not read to its end.
      if (reader.isDone) {
        const { writableLength } = this.#connection!.socket;
        this.#finish(reader.keepsAlive && used === bytes.length && writableLength === 0);
      }
    } catch (error) {
      this.stop(error);
    }
  }

  part(bytes: Buffer): void {
    this.#body!.add(bytes);
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    this.#body = new Body(this.#options, {
      pause: () => this.#connection?.socket.pause(),
      resume: () => this.#connection?.socket.resume(),
      stop: (reason) => this.stop(reason),
    });
    this.#deps.resolve({ status, headers, body: this.#body });
  }

  closed(cause: Error | undefined): void {
    const wasUsed = this.#connection?.isUsed === true;
    this.#connection = undefined;
    if (this.#isOver) return;
    if (this.#reader?.end() === true) return this.#finish(false);
    const isDead = this.#options.repeatable === true && wasUsed && !this.#answered && isReset(cause);
    if (!isDead || this.#isRepeat) return this.stop(cause ?? brokenOff(this.#answered));
    this.#isRepeat = true;
    this.#reader = undefined;
    // They are as old as the dead one.
    this.#deps.connections().forgetIdle(this.#options);
    this.begin();
  }

  /** Ends the exchange without its answer. The deadline and the caller need no cause. */
  stop(cause: unknown): void {
    if (this.#isOver) return;
    this.#over();
    const error = this.#body?.isEndedBy(cause) === true ? cause : explain(cause, this.#options, this.#isLate);
    if (this.#body) this.#body.fail(error);
    else this.#deps.reject(error as OperatorError);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) connection.release(false);
    else this.#leave();
  }

  #finish(reusable: boolean): void {
    if (this.#isOver) return;
    this.#over();
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection?.socket.isPaused() === true) connection.socket.resume();
    connection?.release(reusable);
    this.#body!.finish();
  }

  #over(): void {
    this.#isOver = true;
    this.#cancelTimer();
    this.#options.signal?.removeEventListener('abort', this.#abort);
  }
}

function isReset(cause: Error | undefined): boolean {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return cause === undefined || code === 'ECONNRESET' || code === 'EPIPE';
}

interface BodyDeps {
  readonly pause: () => void;
  readonly resume: () => void;
  readonly stop: (reason: unknown) => void;
}

/** An answer's body within the limits of its exchange. */
class Body implements TlsBody {
  readonly #options: TlsRequest;
  readonly #deps: BodyDeps;
  /** Parts that nobody has read yet, and their size. */
  #parts: Buffer[] = [];
  #waiting = 0;
  #isPaused = false;
  #total = 0;
  #use: ((part: Buffer) => void) | undefined;
  #state: 'open' | 'whole' | 'failed' = 'open';
  #error: unknown;
  /** What the function given to `each` threw. */
  #thrown: { readonly error: unknown } | undefined;
  #wake: () => void = () => {};

  constructor(options: TlsRequest, deps: BodyDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Errors: ERR_TOO_LARGE, and those of the reader. */
  add(part: Buffer): void {
    if (this.#state !== 'open') return;
    this.#total += part.length;
    if (this.#total > this.#options.maxBytes) throw tooLarge(this.#options);
    if (this.#use !== undefined) return this.#use(part);
    this.#parts.push(part);
    this.#waiting += part.length;
    if (this.#waiting > unreadBytes && !this.#isPaused) {
      this.#isPaused = true;
      this.#deps.pause();
    }
    this.#wake();
  }

  finish(): void {
    if (this.#state === 'open') this.#state = 'whole';
    this.#wake();
  }

  fail(error: unknown): void {
    if (this.#state === 'open') this.#state = 'failed';
    this.#error = error;
    this.#wake();
  }

  /** Whether the reader itself threw this. */
  isEndedBy(cause: unknown): boolean {
    return this.#thrown !== undefined && this.#thrown.error === cause;
  }

  each(use: (part: Buffer) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const guarded = (part: Buffer): void => {
        try {
          use(part);
        } catch (error) {
          this.#thrown = { error };
          throw error;
        }
      };
      try {
        for (const part of this.#parts.splice(0)) guarded(part);
      } catch (error) {
        this.#deps.stop(error);
        return reject(error as Error);
      }
      this.#use = guarded;
      this.#wake = () => {
        if (this.#state === 'whole') resolve();
        else if (this.#state === 'failed') reject(this.#error as Error);
      };
      this.#taken(this.#waiting);
      this.#wake();
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const part = this.#parts.shift();
        if (part !== undefined) {
          this.#taken(part.length);
          yield part;
        } else if (this.#state === 'whole') return;
        else if (this.#state === 'failed') throw this.#error;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      // A reader that leaves early ends the exchange.
      if (this.#state === 'open') this.#deps.stop(undefined);
    }
  }

  #taken(bytes: number): void {
    this.#waiting -= bytes;
    if (!this.#isPaused || this.#waiting > unreadBytes) return;
    this.#isPaused = false;
    this.#deps.resume();
  }
}

function brokenOff(answered = true): Error {
  return new Error(answered ? 'connection closed in the middle of the answer' : 'socket hang up');
}

function explain(cause: unknown, options: TlsRequest, isLate: boolean): OperatorError {
  if (isOperatorError(cause, 'ERR_PEER_IDENTITY')) {
    return new OperatorError('ERR_PEER_IDENTITY', `${target(options)}: ${cause.message}`, { cause: cause.cause });
  }
  if (cause instanceof OperatorError) return cause;
  if (isLate) {
    return new OperatorError('ERR_TIMEOUT', `${target(options)}: no answer within ${options.deadlineMs} ms`, { cause });
  }
  if (options.signal?.aborted) return new OperatorError('ERR_ABORTED', `${target(options)}: cancelled`, { cause });
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause);
  return new OperatorError('ERR_AGENT_UNREACHABLE', `${target(options)}: ${reason}`, { cause });
}

function tooLarge(options: TlsRequest): OperatorError {
  return new OperatorError('ERR_TOO_LARGE', `${target(options)}: answer is larger than ${options.maxBytes} bytes`);
}

function target(options: TlsRequest): string {
  return `${options.method} ${options.host}:${options.port}${options.path.split('?')[0]}`;
}

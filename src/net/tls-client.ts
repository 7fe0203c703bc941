import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { OperatorError } from '../base/errors.ts';
import type { TlsSource } from './tls-material.ts';

/** One call to a peer of ours by pod address; its certificate is checked against `servername`, not the address. */
export interface TlsRequest {
  /** IP address (or host) to connect to. */
  host: string;
  port: number;
  /** DNS name that the peer's certificate must carry. */
  servername: string;
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: Uint8Array | string;
  /** Bound on the whole exchange, connect to last byte. Units: ms. */
  deadlineMs: number;
  /** Cap on the answer's body. Units: bytes. */
  maxBytes: number;
  signal?: AbortSignal;
}

export interface TlsResponse {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TlsStreamResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Chunks as they come. Iteration throws ERR_TIMEOUT, ERR_TOO_LARGE, ERR_ABORTED or ERR_AGENT_UNREACHABLE. */
  body: AsyncIterable<Buffer>;
}

/**
 * Mutual-TLS client with keep-alive, one pool per certificate generation, so a rotation takes effect on the
 * next connection while calls in flight finish on the old one. It never retries: the caller knows what is safe.
 */
export class TlsClient {
  readonly #source: TlsSource;
  #agent: Agent | undefined;
  #generation = 0;

  constructor(source: TlsSource) {
    this.#source = source;
  }

  /** Sends a request and reads the whole answer. Errors: as for the stream. */
  async request(options: TlsRequest): Promise<TlsResponse> {
    const { status, headers, body } = await this.stream(options);
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return { status, headers, body: Buffer.concat(chunks) };
  }

  /** Sends a request and hands out the answer's body as it arrives. */
  stream(options: TlsRequest): Promise<TlsStreamResponse> {
    const deadline = AbortSignal.timeout(options.deadlineMs);
    const signal = options.signal ? AbortSignal.any([deadline, options.signal]) : deadline;
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(explain(cause, options, deadline));
      const req = httpsRequest(
        {
          host: options.host,
          port: options.port,
          servername: options.servername,
          method: options.method,
          path: options.path,
          headers: options.headers ?? {},
          agent: this.#pool(),
          signal,
        },
        (res) => {
          res.on('error', () => {}); // told to whoever iterates the body
          resolve({ status: res.statusCode ?? 0, headers: res.headers, body: capped(res, options, deadline) });
        },
      );
      req.on('error', fail);
      req.end(options.body);
    });
  }

  /** Drops idle connections. */
  close(): void {
    this.#agent?.destroy();
    this.#agent = undefined;
  }

  #pool(): Agent {
    if (!this.#agent || this.#generation !== this.#source.generation) {
      this.#generation = this.#source.generation;
      const { cert, key, ca } = this.#source.current;
      const old = this.#agent;
      this.#agent = new Agent({
        cert,
        key,
        ca,
        keepAlive: true,
        maxSockets: 64,
        timeout: 60_000,
        minVersion: 'TLSv1.2',
      });
      // Sockets in use are released, and closed, as their calls end.
      if (old)
        for (const sockets of Object.values(old.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    }
    return this.#agent;
  }
}

async function* capped(res: IncomingMessage, options: TlsRequest, deadline: AbortSignal): AsyncGenerator<Buffer> {
  let total = 0;
  try {
    for await (const chunk of res as AsyncIterable<Buffer>) {
      total += chunk.length;
      if (total > options.maxBytes) {
        throw new OperatorError('ERR_TOO_LARGE', `${target(options)}: answer is larger than ${options.maxBytes} bytes`);
      }
      yield chunk;
    }
    if (!res.complete) throw new Error('connection closed in the middle of the answer');
  } catch (cause) {
    throw explain(cause, options, deadline);
  } finally {
    if (!res.complete) res.destroy();
  }
}

function explain(cause: unknown, options: TlsRequest, deadline: AbortSignal): OperatorError {
  if (cause instanceof OperatorError) return cause;
  if (deadline.aborted) {
    return new OperatorError('ERR_TIMEOUT', `${target(options)}: no answer within ${options.deadlineMs} ms`, { cause });
  }
  if (options.signal?.aborted) return new OperatorError('ERR_ABORTED', `${target(options)}: cancelled`, { cause });
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause);
  return new OperatorError('ERR_AGENT_UNREACHABLE', `${target(options)}: ${reason}`, { cause });
}

function target(options: TlsRequest): string {
  return `${options.method} ${options.host}:${options.port}${options.path.split('?')[0]}`;
}

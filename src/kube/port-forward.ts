import { Duplex, PassThrough } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
// Only this module: the package's index would load fifteen hundred generated files.
import { WebSocketHandler } from '@kubernetes/client-node/dist/web-socket-handler.js';
import type { Clock } from '../base/clock.ts';
import { errorText, OperatorError } from '../base/errors.ts';
import type { KubeClient } from './client.ts';
import { coreResources } from '../api/core-resources.ts';
import type { Credentials } from './credentials.ts';
import { resourcePath } from './paths.ts';

export interface PodStreamOptions {
  signal?: AbortSignal | undefined;
  /** Deadline for the credentials, and again for opening the connection. Units: ms. Default 10 s. */
  deadlineMs?: number | undefined;
}

/** The part of the socket that is used here; client-node's WebSocket library has no types. */
interface Socket {
  readonly readyState: number;
  readonly OPEN: number;
  readonly isPaused: boolean;
  on(event: 'error', listener: (error: Error) => void): void;
  on(event: 'close' | 'pong', listener: () => void): void;
  ping(): void;
  send(data: Buffer, options: { binary: boolean }, done: (error?: Error | null) => void): void;
  pause(): void;
  resume(): void;
  close(): void;
  terminate(): void;
}

/** Channels of the protocol, for one port. Source: kubelet `portforward/websocket.go`, `v4.channel.k8s.io`. */
const dataChannel = 0;
const errorChannel = 1;
/** Each channel begins with the port's number. */
const portBytes = 2;

/** Time between two pings, and how many may stay without an answer. Units of the time: ms. */
const pingMs = 15_000;
const maxUnanswered = 2;

/**
 * Opens one connection to a port inside a pod through a WebSocket to the API server, which forwards it to the kubelet.
 * Caveats: kubelet and container runtime connect only when the first bytes arrive; a port without a listener then shows
 * as an error of the stream.
 * Guarantees: a connection from which nothing comes back, not even the kubelet's answers to pings, ends with
 * ERR_TIMEOUT within 45 s.
 * Errors: `ApiError` when the API server or the kubelet refuses, ERR_TIMEOUT, ERR_ABORTED, ERR_API_REQUEST.
 */
export async function openPodStream(
  credentials: Credentials,
  client: Pick<KubeClient, 'getPath'>,
  pod: { namespace: string | undefined; name: string },
  port: number,
  { clock, signal, deadlineMs }: PodStreamOptions & { deadlineMs: number; clock: Clock },
): Promise<Duplex> {
  const what = `port-forward ${pod.namespace}/${pod.name}:${port}`;
  if (signal?.aborted) throw new OperatorError('ERR_ABORTED', `${what}: cancelled`);
  const path = `${resourcePath(coreResources.pods, { ...pod, subresource: 'portforward' })}?ports=${port}`;
  const config = {
    getCurrentCluster: () => ({ server: credentials.server }),
    applyToHTTPSOptions: async (options: object) =>
      void Object.assign(options, await credentials.socketOptions(), { handshakeTimeout: deadlineMs }),
  };
  // The handler closes these streams at the end of the protocol. By default it would close our own standard output.
  const nowhere = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const handler = new WebSocketHandler(config as unknown as KubeConfig, undefined, nowhere);
  const stream = new PodStream(what, clock);
  let socket: Socket;
  try {
    socket = (await handler.connect(path, null, (channel, bytes) =>
      stream.receive(channel, bytes),
    )) as unknown as Socket;
  } catch (error) {
    throw await refusal(error, what, client, path, { signal, deadlineMs });
  }
  stream.use(socket, signal);
  return stream;
}

/**
 * Why the WebSocket could not be opened. The handshake returns only a status; a plain request for the same path returns
 * the message as well.
 */
async function refusal(
  cause: unknown,
  what: string,
  client: Pick<KubeClient, 'getPath'>,
  path: string,
  options: PodStreamOptions,
): Promise<unknown> {
  const text = errorText((cause as { error?: unknown }).error ?? cause);
  const status = Number(/Unexpected server response: (\d+)/.exec(text)?.[1]);
  if (/handshake has timed out/.test(text))
    return new OperatorError('ERR_TIMEOUT', `${what}: no answer within ${options.deadlineMs} ms`, { cause });
  if (status >= 400) {
    const told = await client.getPath(path, { ...options, retry: false }).catch((error: unknown) => error);
    if (told instanceof OperatorError && (told as { status?: number }).status === status) return told;
  }
  return new OperatorError('ERR_API_REQUEST', `${what}: ${text}`, { cause });
}

/** The two channels of one port as a byte stream; a message on the error channel ends it. */
class PodStream extends Duplex {
  readonly #what: string;
  readonly #clock: Clock;
  readonly #started = new Set<number>();
  #socket: Socket | undefined;
  /** Pings without an answer, or any other message, after them. */
  #unanswered = 0;
  #stopPinging = (): void => {};

  constructor(what: string, clock: Clock) {
    super({ allowHalfOpen: false });
    this.#what = what;
    this.#clock = clock;
    // The stream may fail before the caller listens, which would end the process. A reader gets the error all the same.
    this.on('error', () => {});
  }

  use(socket: Socket, signal: AbortSignal | undefined): void {
    this.#socket = socket;
    const abort = (): void => void this.destroy(new OperatorError('ERR_ABORTED', `${this.#what}: cancelled`));
    signal?.addEventListener('abort', abort, { once: true });
    socket.on('error', (error: Error) => this.destroy(error));
    socket.on('pong', () => (this.#unanswered = 0));
    this.#pingLater(socket);
    socket.on('close', () => {
      this.#stopPinging();
      signal?.removeEventListener('abort', abort);
      if (!this.destroyed) this.push(null);
    });
    if (signal?.aborted) abort();
  }

  /** Without pings, a connection that a middlebox has forgotten would look like one on which nothing happens. */
  #pingLater(socket: Socket): void {
    const ping = (): void => {
      // While the reader is slow, answers are not read either.
      if (socket.isPaused) this.#unanswered = 0;
      else if (this.#unanswered === maxUnanswered) {
        const seconds = ((maxUnanswered + 1) * pingMs) / 1000;
        this.destroy(new OperatorError('ERR_TIMEOUT', `${this.#what}: no sign of life for ${seconds} s`));
        return;
      } else if (socket.readyState === socket.OPEN) {
        this.#unanswered++;
        socket.ping();
      }
      this.#pingLater(socket);
    };
    this.#stopPinging = this.#clock.setTimeout(ping, pingMs, { unref: true });
  }

  /** Takes one message; returning true keeps the connection. */
  receive(channel: number, bytes: Buffer): boolean {
    this.#unanswered = 0;
    let content = bytes;
    if (!this.#started.has(channel)) {
      this.#started.add(channel);
      content = bytes.subarray(portBytes);
    }
    if (content.length === 0) return true;
    if (channel === errorChannel) {
      this.destroy(new OperatorError('ERR_API_REQUEST', `${this.#what}: ${content.toString('utf8').trim()}`));
      return false;
    }
    if (channel === dataChannel && !this.push(content)) this.#socket?.pause();
    return true;
  }

  override _read(): void {
    this.#socket?.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const socket = this.#socket;
    if (!socket || socket.readyState !== socket.OPEN)
      return done(new OperatorError('ERR_API_REQUEST', `${this.#what}: the connection is closed`));
    socket.send(Buffer.concat([Buffer.of(dataChannel), chunk]), { binary: true }, done);
  }

  override _final(done: () => void): void {
    this.#socket?.close();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#stopPinging();
    this.#socket?.terminate();
    done(error);
  }
}

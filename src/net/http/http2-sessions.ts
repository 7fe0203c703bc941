import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, createServer } from 'node:http2';
import type { Http2Server, Http2Session, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { HttpLimits } from './limits.ts';
import type { Place } from './places.ts';
import type { RefusalReason } from './refusal.ts';

export interface SessionOptions {
  readonly limits: HttpLimits;
  readonly serve: (req: IncomingMessage, res: ServerResponse, place: Place) => void;
  readonly refused: (reason: RefusalReason) => void;
}

const controlWindowMs = 10_000;

/**
 * The HTTP/2 half of a listener: sessions on connections that were accepted and authenticated elsewhere.
 * Guarantees: a client loses its session, and all its streams, when it floods with stream resets, SETTINGS, PING, empty
 * or invalid frames, when it never completes its preface, or when it keeps the session idle. Its connection is closed
 * also if it reads nothing: Node.js ends neither a closed stream nor a closed session while a write hangs.
 */
export class Http2Sessions {
  readonly #options: SessionOptions;
  readonly #server: Http2Server;
  readonly #sessions = new Map<Http2Session, Place>();
  readonly #streams = new WeakMap<Http2Session, number>();
  #entering: Place | undefined;
  #draining = false;

  constructor(options: SessionOptions) {
    const { limits } = options;
    this.#options = options;
    this.#server = createServer({
      settings: { maxConcurrentStreams: limits.streams, maxHeaderListSize: limits.targetBytes + limits.headerBytes },
      maxHeaderListPairs: 128,
      maxOutstandingPings: 10,
      maxSessionInvalidFrames: 100,
      maxSessionRejectedStreams: 100,
      // Limits on streams that the client resets: a burst, and a rate per second after it (CVE-2023-44487).
      streamResetBurst: 500,
      streamResetRate: 33,
    });
    this.#server.on('session', (session) => this.#follow(session));
    this.#server.on('sessionError', () => {}); // the session ends; its requests are notified
    this.#server.on('request', (req, res) => {
      const place = req.stream.session && this.#sessions.get(req.stream.session);
      if (!place) return void req.stream.destroy();
      this.#options.serve(req as unknown as IncomingMessage, res as unknown as ServerResponse, place);
      this.#limitArrival(req.stream, place);
      this.#countStream(req.stream);
    });
  }

  accept(socket: Duplex, place: Place): void {
    this.#entering = place;
    this.#server.emit('connection', socket);
    this.#entering = undefined;
  }

  /**
   * From now on a session gets its GOAWAY at the end of an answer that leaves the session without streams. An earlier
   * GOAWAY would refuse requests that are in flight: Node.js cannot send the notice that announces it (RFC 9113 §6.8).
   */
  drain(): void {
    this.#draining = true;
  }

  /** Sessions without streams end now, the others after their last stream. */
  closeIdle(): void {
    for (const session of this.#sessions.keys()) session.close();
  }

  destroyAll(): void {
    for (const session of this.#sessions.keys()) session.destroy();
  }

  #follow(session: ServerHttp2Session): void {
    const place = this.#entering;
    if (!place) return session.destroy();
    const { limits, refused } = this.#options;
    this.#sessions.set(session, place);
    const end = (reason: RefusalReason): void => {
      refused(reason);
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    const preface = setTimeout(() => end('timeout'), limits.headersMs).unref();
    session.on('close', () => {
      clearTimeout(preface);
      this.#sessions.delete(session);
    });
    session.on('error', ({ code }: NodeJS.ErrnoException) => {
      // The session ends; its requests are notified. A broken socket is not the caller's fault.
      if (code?.startsWith('ERR_HTTP2')) refused('malformed');
    });
    let windowStart = 0;
    let frames = 0;
    const control = (): void => {
      const now = performance.now();
      if (now - windowStart > controlWindowMs) [windowStart, frames] = [now, 0];
      if (++frames === limits.controlFrames) end('flood');
    };
    session.on('ping', control);
    session.on('remoteSettings', () => {
      clearTimeout(preface);
      control();
    });
    whenQuiet(session, limits.sessionIdleMs, () => {
      if (place.busy > 0) return;
      session.close();
      setTimeout(place.close, limits.lingerMs).unref();
    });
  }

  #countStream(stream: ServerHttp2Stream): void {
    const { session } = stream;
    if (!session) return;
    const count = (change: number): number => {
      const now = (this.#streams.get(session) ?? 0) + change;
      this.#streams.set(session, now);
      return now;
    };
    count(1);
    stream.once('close', () => {
      if (count(-1) > 0) return;
      if (this.#draining) session.close();
      else session.setTimeout(this.#options.limits.sessionIdleMs);
    });
  }

  /** Node.js ends slow requests of HTTP/1.1 by itself, but leaves a stream open as long as its session lives. */
  #limitArrival(stream: ServerHttp2Stream, place: Place): void {
    const { limits, refused } = this.#options;
    const cut = (): void => {
      refused('timeout');
      stream.close(constants.NGHTTP2_CANCEL);
      const stuck = setTimeout(place.close, limits.stalledMs).unref();
      stream.once('close', () => clearTimeout(stuck));
    };
    whenQuiet(stream, limits.stalledMs, () => stream.writableLength > 0 && cut());
    if (stream.endAfterHeaders) return;
    const late = setTimeout(() => {
      if (!stream.closed && !hasArrived(stream)) cut();
    }, limits.requestMs).unref();
    stream.once('close', () => clearTimeout(late));
  }
}

/**
 * Calls `judge` after each time without progress. Not by the callback of `setTimeout`, which Node calls once only, nor
 * by one timer, which runs again only after some progress.
 */
function whenQuiet(one: Http2Session | ServerHttp2Stream, ms: number, judge: () => void): void {
  one.on('timeout', () => {
    judge();
    one.setTimeout(ms);
  });
  one.setTimeout(ms);
}

/** Whether the whole request has arrived. Node sets `complete` of an HTTP/2 request only after its body was read. */
export function hasArrived(stream: ServerHttp2Stream): boolean {
  return stream.endAfterHeaders || stream.state.remoteClose === 1;
}

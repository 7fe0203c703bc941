import type { ServerOptions } from 'node:http';

/** The limits of one listener. Sizes in bytes, times in ms. */
export interface HttpLimits {
  /** The request target. A longer one is answered 414. */
  readonly targetBytes: number;
  /** All header fields together. Larger ones are answered 431. */
  readonly headerBytes: number;
  /** From the connection, or the first byte of a later request, to the end of the headers. Also for a TLS handshake. */
  readonly headersMs: number;
  /** From a request's first byte to its last. An answer may take longer. */
  readonly requestMs: number;
  /** How long a connection without a request is kept. */
  readonly keepAliveMs: number;
  /** How long an HTTP/2 session without a stream is kept. Autoscalers keep theirs by a poll every 15 s. */
  readonly sessionIdleMs: number;
  /** How long a caller may leave an answer unread. A stream that has nothing to send is not cut. */
  readonly stalledMs: number;
  /** How long a caller may continue to send the body of a request that is already answered. */
  readonly lingerMs: number;
  /** How long answers may go on after the client's certificate is trusted no more. */
  readonly partingMs: number;
  /** Connections in total. At the limit, one that is idle or whose request is still arriving is closed. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** Requests in flight in total. Less than `connections`, so that there is always a connection that can be closed. */
  readonly requests: number;
  /** Paths that are answered even at the limit of `requests`, such as those of probes. */
  readonly reservedPaths: readonly string[];
  /** Requests that one HTTP/1.1 connection may send before the first is answered. */
  readonly pipelined: number;
  /** Open streams of one HTTP/2 session. */
  readonly streams: number;
  /** SETTINGS and PING frames that one HTTP/2 session may send in ten seconds. */
  readonly controlFrames: number;
}

export const defaultLimits: HttpLimits = {
  targetBytes: 16 * 1024,
  headerBytes: 32 * 1024,
  headersMs: 5_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  sessionIdleMs: 300_000,
  stalledMs: 60_000,
  lingerMs: 2_000,
  partingMs: 30_000,
  connections: 1_000,
  connectionsPerAddress: 500,
  requests: 750,
  reservedPaths: [],
  pipelined: 16,
  streams: 250,
  controlFrames: 200,
};

/** For ports that only the kubelet and a scraper call: few callers, small requests. */
export const probeLimits: Pick<HttpLimits, 'connections' | 'connectionsPerAddress' | 'requests'> = {
  connections: 128,
  connectionsPerAddress: 64,
  requests: 96,
};

/** Interval at which Node checks for slow connections: it adds half a second at most to a limit. */
const checkMs = 500;

/** The limits that Node's own parser and timers enforce. */
export function nodeOptions(limits: HttpLimits): ServerOptions {
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: checkMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node counts the target and the header fields together; `Door` decides which of them is too large.
    maxHeaderSize: limits.targetBytes + limits.headerBytes,
    insecureHTTPParser: false,
    requireHostHeader: true,
    // Detects a client that vanished while it followed a stream.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  };
}

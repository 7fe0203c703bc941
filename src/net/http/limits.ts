import type { ServerOptions } from 'node:http';

/** What one listener takes from its callers. Sizes in bytes, times in ms. */
export interface HttpLimits {
  /** The request target; longer ones are 414. */
  readonly targetBytes: number;
  /** All header fields together; more is 431. */
  readonly headerBytes: number;
  /** From the connection, or from the answer before, to the end of a request's headers, and for a TLS handshake. */
  readonly headersMs: number;
  /** From a request's first byte to its last. An answer may take longer. */
  readonly requestMs: number;
  /** How long a connection without a request is kept. */
  readonly keepAliveMs: number;
  /** How long a caller may leave an answer unread. A stream that has nothing to send is not cut. */
  readonly stalledMs: number;
  /** How long a caller may go on sending a body that was answered already. */
  readonly lingerMs: number;
  /** Connections in total. At the limit an idle one of the address that has most of them makes room. */
  readonly connections: number;
  readonly connectionsPerAddress: number;
  /** Requests in flight in total. Less than `connections`, so that some connection is always free to make room. */
  readonly requests: number;
  /** Paths that are answered beyond `requests`, such as those of probes. */
  readonly reservedPaths: readonly string[];
  /** Requests that one HTTP/1.1 connection sends before the first is answered. */
  readonly pipelined: number;
  /** Open streams of one HTTP/2 session. */
  readonly streams: number;
  /** SETTINGS and PING frames that one HTTP/2 session sends in ten seconds. */
  readonly controlFrames: number;
}

export const defaultLimits: HttpLimits = {
  targetBytes: 16 * 1024,
  headerBytes: 32 * 1024,
  headersMs: 5_000,
  requestMs: 30_000,
  keepAliveMs: 65_000,
  stalledMs: 60_000,
  lingerMs: 2_000,
  connections: 1_000,
  connectionsPerAddress: 500,
  requests: 750,
  reservedPaths: [],
  pipelined: 16,
  streams: 250,
  controlFrames: 200,
};

/** For ports that the kubelet and a scraper ask: few callers, small requests. */
export const probeLimits: Pick<HttpLimits, 'connections' | 'connectionsPerAddress' | 'requests'> = {
  connections: 128,
  connectionsPerAddress: 64,
  requests: 96,
};

/** Node looks for connections that are too slow at this interval: half a second at most is added to a limit. */
const checkMs = 500;

/** What Node's own parser and timers enforce of the limits. */
export function nodeOptions(limits: HttpLimits): ServerOptions {
  return {
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: checkMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Node counts the target and the header fields as one; which of them is too large is decided behind it.
    maxHeaderSize: limits.targetBytes + limits.headerBytes,
    insecureHTTPParser: false,
    requireHostHeader: true,
    // A client that follows a stream and is gone without a word is noticed.
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
  };
}

import type { IncomingHttpHeaders } from 'node:http';

/** One request to the query server. */
export interface QueryRequest {
  readonly method?: 'GET' | 'POST';
  /** Includes the query string: `/api/v1/labels?limit=10`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as a form by POST: expressions may be longer than a URL allows. */
  readonly form?: URLSearchParams;
  readonly body?: string;
  readonly signal?: AbortSignal;
  /** Deadline of the whole exchange; for a stream, only of its headers. Units: ms. Default 30 s. */
  readonly deadlineMs?: number;
  /** Cap on the answer's body. Units: bytes. Default 256 MiB. Streams have no cap. */
  readonly maxBytes?: number;
}

export interface QueryResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface QueryStream {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Bytes as they arrive; ends with the signal, or throws PluginError when the connection breaks. */
  readonly body: AsyncIterable<Buffer>;
}

/**
 * Access to svc-query, by whatever connection.
 * Errors of both calls: PluginError with a remedy when no answer came, and for 401 and 403; ERR_TIMEOUT, ERR_TOO_LARGE,
 * ERR_ABORTED. The caller handles other statuses.
 */
export interface QueryServer {
  /** Its name in messages: `https://query.example:9095`, `pod svc-system/svc-query-…`. */
  readonly target: string;
  request(request: QueryRequest): Promise<QueryResponse>;
  stream(request: QueryRequest): Promise<QueryStream>;
  close(): void;
}

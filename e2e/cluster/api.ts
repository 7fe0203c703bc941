import { Agent, request as httpsRequest } from 'node:https';
import type { IncomingMessage } from 'node:http';

/** A plain JSON client of the API server, for the harness itself: no cache, no retries, one deadline per call. */
export interface Api {
  readonly server: string;
  /**
   * One request. `body` is sent as JSON (or as `contentType` says); the answer is parsed.
   * Errors: `ApiError` for an answer of 400 and above; a plain error if no answer comes in time.
   */
  request<T = unknown>(method: string, path: string, body?: unknown, options?: RequestOptions): Promise<T>;
  /** Opens a stream; resolves with the response when its headers have arrived. */
  stream(path: string, signal: AbortSignal): Promise<IncomingMessage>;
  close(): void;
}

export interface RequestOptions {
  contentType?: string;
  /** Milliseconds; default 10 s. */
  timeoutMs?: number;
  /** Return the body as text, not parsed. */
  raw?: boolean;
}

export interface ApiCredentials {
  server: string;
  ca: string;
  cert: string;
  key: string;
}

/** An answer of 400 and above. */
export class ApiError extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
  }
}

export const mergePatch = 'application/merge-patch+json';
export const strategicPatch = 'application/strategic-merge-patch+json';

export function createApi(credentials: ApiCredentials): Api {
  const agent = new Agent({
    keepAlive: true,
    ca: credentials.ca,
    cert: credentials.cert,
    key: credentials.key,
    maxSockets: 256,
  });
  const url = new URL(credentials.server);
  return {
    server: credentials.server,
    async request<T>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
      const signal = AbortSignal.timeout(options.timeoutMs ?? 10_000);
      const response = await open(agent, url, method, path, signal, body, options.contentType);
      const text = await readText(response);
      if ((response.statusCode ?? 0) >= 400) throw toApiError(response.statusCode ?? 0, text, `${method} ${path}`);
      return (options.raw ? text : JSON.parse(text)) as T;
    },
    async stream(path, signal) {
      const response = await open(agent, url, 'GET', path, signal);
      if ((response.statusCode ?? 0) < 400) return response;
      throw toApiError(response.statusCode ?? 0, await readText(response), `GET ${path}`);
    },
    close: () => agent.destroy(),
  };
}

function open(
  agent: Agent,
  url: URL,
  method: string,
  path: string,
  signal: AbortSignal,
  body?: unknown,
  contentType = 'application/json',
): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  const headers: Record<string, string | number> = { accept: 'application/json' };
  if (payload !== undefined) {
    headers['content-type'] = contentType;
    headers['content-length'] = Buffer.byteLength(payload);
  }
  return new Promise((resolve, reject) => {
    const req = httpsRequest(
      { agent, hostname: url.hostname, port: url.port, method, path, headers, signal },
      (response) => resolve(response),
    );
    req.once('error', (cause) => {
      reject(signal.aborted ? new Error(`${method} ${path}: no answer in time`, { cause }) : cause);
    });
    req.end(payload);
  });
}

function readText(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.once('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    response.once('error', reject);
  });
}

function toApiError(status: number, text: string, what: string): ApiError {
  try {
    const parsed = JSON.parse(text) as { reason?: string; message?: string };
    return new ApiError(status, parsed.reason ?? '', `${what}: ${status} ${parsed.message ?? text.slice(0, 500)}`);
  } catch {
    return new ApiError(status, '', `${what}: ${status} ${text.slice(0, 500)}`);
  }
}

import { request } from 'node:https';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The parsed body, when it is JSON. */
  readonly json: {
    status?: string;
    data?: unknown;
    errorType?: string;
    error?: string;
    warnings?: string[];
    infos?: string[];
    degraded?: boolean;
    missingNodes?: string[];
  };
}

export type ApiParams = Readonly<Record<string, string | readonly string[]>>;

export interface ApiClientOptions {
  readonly port: number;
  readonly ca: string;
}

/**
 * Sends a request to a query server over TLS: a `GET` with a query string, or a `POST` of a form with `form`, of bytes
 * with `body`.
 */
export function askApi(
  { port, ca }: ApiClientOptions,
  path: string,
  params: ApiParams = {},
  options: {
    method?: string;
    form?: boolean;
    body?: Uint8Array;
    headers?: Record<string, string>;
    signal?: AbortSignal;
  } = {},
): Promise<ApiAnswer> {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const one of typeof value === 'string' ? [value] : value) search.append(name, one);
  }
  const form = options.form === true;
  const headers = { ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}), ...options.headers };
  const target = form || search.size === 0 ? path : `${path}?${search}`;
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: '127.0.0.1',
        servername: 'localhost',
        port,
        ca,
        path: target,
        method: options.method ?? (form || options.body ? 'POST' : 'GET'),
        headers,
        ...(options.signal ? { signal: options.signal } : {}),
      },
      (res) => {
        const parts: Buffer[] = [];
        res.on('data', (part: Buffer) => parts.push(part));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(parts).toString();
          const type = res.headers['content-type'] ?? '';
          // The answer of the stream has one JSON document per line, so it is not parsed here.
          const isJson = type.includes('json') && !type.includes('ndjson') && !res.headers['content-encoding'];
          const json = isJson ? (JSON.parse(text) as ApiAnswer['json']) : {};
          resolve({ status: res.statusCode ?? 0, headers: res.headers, text, json });
        });
      },
    );
    req.on('error', reject);
    req.end(form ? search.toString() : options.body);
  });
}

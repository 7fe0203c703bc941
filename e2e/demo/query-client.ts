import { request } from 'node:https';

/** An answer of the query API, parsed. */
export interface QueryAnswer {
  status: number;
  body: {
    status: 'success' | 'error';
    data?: { resultType: string; result: { metric: Record<string, string>; value: [number, string] }[] };
    error?: string;
    errorType?: string;
    degraded?: boolean;
    missingNodes?: string[];
    warnings?: string[];
  };
}

export interface QueryTarget {
  host: string;
  port: number;
  ca: string;
  token?: string;
}

/** Sends one instant query over TLS, and checks the server's certificate against our CA. */
export function instantQuery(
  target: QueryTarget,
  query: string,
  params: Record<string, string> = {},
): Promise<QueryAnswer> {
  return getJson(target, `/api/v1/query?${new URLSearchParams({ query, ...params })}`);
}

export function getJson(target: QueryTarget, path: string): Promise<QueryAnswer> {
  return new Promise((resolve, reject) => {
    const req = request(
      {
        host: target.host,
        port: target.port,
        path,
        ca: target.ca,
        servername: 'svc-query.svc-system.svc',
        headers: target.token ? { authorization: `Bearer ${target.token}` } : {},
        signal: AbortSignal.timeout(15_000),
        agent: false,
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          try {
            resolve({ status: res.statusCode ?? 0, body: JSON.parse(text) as QueryAnswer['body'] });
          } catch {
            reject(new Error(`${path}: ${res.statusCode} ${text.slice(0, 200)}`));
          }
        });
      },
    );
    req.on('error', reject);
    req.end();
  });
}

/** The part of the query API that the page uses. Every success carries `degraded` and `missingNodes`. */
export interface Sample {
  metric: Record<string, string>;
  value?: [number, string];
  values?: [number, string][];
}

export interface Answer {
  resultType: 'vector' | 'matrix' | 'scalar' | 'string';
  result: Sample[] | [number, string];
  warnings: string[];
  infos: string[];
  degraded: boolean;
  missingNodes: string[];
}

let token = sessionStorage.getItem('svc-token') ?? '';

/** Keeps the bearer token for this browser tab only. */
export function setToken(value: string): void {
  token = value.trim();
  sessionStorage.setItem('svc-token', token);
}

/** One GET to the API. Errors: an Error whose message is the API's own sentence. */
export async function call<T>(
  path: string,
  params: Record<string, string> = {},
): Promise<T & Omit<Answer, 'resultType' | 'result'>> {
  const response = await fetch(`api/v1/${path}?${new URLSearchParams(params)}`, {
    headers: token ? { authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.timeout(30_000),
  });
  const body = (await response.json().catch(() => ({ error: `${response.status} ${response.statusText}` }))) as Record<
    string,
    unknown
  >;
  if (body['status'] !== 'success') throw new Error(String(body['error'] ?? body['message'] ?? response.statusText));
  const { data, warnings = [], infos = [], degraded = false, missingNodes = [] } = body;
  const extra = { warnings, infos, degraded, missingNodes };
  return (Array.isArray(data) ? { data, ...extra } : { ...(data as object), ...extra }) as T &
    Omit<Answer, 'resultType' | 'result'>;
}

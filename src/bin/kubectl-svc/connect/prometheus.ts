import { PluginError } from '../errors.ts';
import { printable } from '../output/table.ts';
import type { VectorSample } from '../query/result.ts';
import type { Session } from '../session.ts';
import { messageOf } from './failures.ts';
import type { QueryRequest, QueryServer } from './query-server.ts';

/** A successful answer of the query API. */
export interface ApiAnswer<T = unknown> {
  readonly data: T;
  readonly warnings: readonly string[];
  readonly infos: readonly string[];
  readonly degraded: boolean;
  /** Nodes whose data is missing from the answer. */
  readonly missingNodes: readonly string[];
  readonly explain: unknown;
  /** The complete body. */
  readonly text: string;
}

/** An error of the query API. `errorType` is Prometheus', such as `bad_data`. */
export class ApiFailure extends PluginError {
  readonly errorType: string;

  constructor(errorType: string, message: string, hints: readonly string[] = []) {
    super(errorType === 'bad_data' ? 'ERR_QUERY_PARSE' : 'ERR_QUERY_EXECUTION', message, { hints });
    this.errorType = errorType;
  }
}

/**
 * Requests one path of the query API.
 * Errors: ApiFailure for an error in the API's JSON form; PluginError for an answer in another form; those of
 * `QueryServer`.
 */
export async function askApi<T>(
  server: QueryServer,
  path: string,
  params: Readonly<Record<string, string | undefined>>,
  options: Pick<QueryRequest, 'signal' | 'deadlineMs' | 'maxBytes'> & { method?: 'GET' | 'POST' },
): Promise<ApiAnswer<T>> {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form.set(name, value);
  const { method = 'POST', ...rest } = options;
  const asked = method === 'POST' ? { path, form } : { path: form.size === 0 ? path : `${path}?${form}` };
  const { status, text } = await server.request({ ...asked, ...rest });
  const body = parsed(text);
  if (body?.['status'] === 'error')
    throw new ApiFailure(String(body['errorType']), String(body['error']), hintsOf(String(body['errorType'])));
  if (body?.['status'] !== 'success' || !('data' in body))
    throw new PluginError('ERR_API_REQUEST', `${server.target}: ${status} ${messageOf(text)}`, {
      hints: ['is this the address of a query server?'],
    });
  return {
    data: body['data'] as T,
    warnings: texts(body['warnings']),
    infos: texts(body['infos']),
    degraded: body['degraded'] === true,
    missingNodes: texts(body['missingNodes']),
    explain: body['explain'],
    text,
  };
}

/**
 * The vector that an instant query gives now, with the server's own lookback or another one, such as `5m`. Errors: as
 * `askApi`.
 */
export function askVector(
  server: QueryServer,
  query: string,
  signal: AbortSignal,
  lookback?: string,
): Promise<ApiAnswer<{ result: VectorSample[] }>> {
  return askApi(server, '/api/v1/query', { query, lookback_delta: lookback }, { signal });
}

/** Writes to stderr what a user needs to know in addition to the numbers: warnings, infos and missing nodes. */
export function tellCaveats(session: Session, { warnings, infos, degraded, missingNodes }: ApiAnswer): void {
  for (const warning of warnings) session.warn(warning);
  for (const info of infos) session.stderr.write(`info: ${printable(info)}\n`);
  if (degraded) session.warn(lacking(missingNodes));
}

/** Describes the missing data of a degraded answer. Pure. */
export function lacking(missingNodes: readonly string[]): string {
  const nodes = missingNodes.length === 1 ? '1 node' : `${missingNodes.length} nodes`;
  return `degraded: the answer lacks ${nodes}: ${missingNodes.join(', ')}`;
}

function hintsOf(errorType: string): string[] {
  if (errorType === 'timeout') return ['give it more time with --timeout, or ask for less'];
  return [];
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

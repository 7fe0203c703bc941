import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { RequestTarget } from '../../base/request-target.ts';
import { decimalSource } from '../../base/text/decimal.ts';
import { parseRfc3339 } from '../../base/text/rfc3339.ts';
import { Pace } from '../../base/turns/turns.ts';
import { ParseError, parseSelector } from '../../promql/index.ts';
import type { Matcher, Store } from '../../tsdb/index.ts';
import { answerJson, answerMethod, answerText } from './answers.ts';
import type { Route } from './routes.ts';

const adminPath = '/api/v1/admin/tsdb/';

export interface StoreAdminOptions {
  readonly store: Pick<Store, 'snapshot' | 'prepare' | 'delete'>;
  /** Whether the caller may change the store. Others get 403. */
  readonly allowed: (req: IncomingMessage) => boolean;
  readonly logger: Logger;
}

/**
 * Prometheus' admin calls for an agent's store. `POST …/snapshot` answers with the snapshot's name below
 * `store/snapshots`. `POST …/delete_series?match[]=…&start=…&end=…` answers with 204 when the samples are deleted for
 * good, and with 400 when one of the selectors exceeds a limit of the store: then nothing is deleted.
 * Times are Unix seconds or RFC 3339.
 */
export function storeAdminRoute(options: StoreAdminOptions): Route {
  const answer: Route['serve'] = (req, res, target) => {
    if (!options.allowed(req)) return refuse(res, 403, 'forbidden', 'only the controller may change a store');
    if (req.method !== 'POST' && req.method !== 'PUT') return answerMethod(res, 'POST, PUT');
    return serve(target, res, options).catch((error: unknown) => {
      const codes = ['ERR_INPUT_INVALID', 'ERR_SELECTION_LIMIT'] as const;
      const bad = codes.some((code) => isOperatorError(error, code)) || error instanceof ParseError;
      if (!bad) options.logger.error('store: admin call failed', { path: target.path, error: errorText(error) });
      refuse(res, bad ? 400 : 500, bad ? 'bad_data' : 'internal', errorText(error));
    });
  };
  return { path: adminPath, serve: answer };
}

async function serve(
  { path, params }: RequestTarget,
  res: ServerResponse,
  { store, logger }: StoreAdminOptions,
): Promise<void> {
  const call = path.slice(adminPath.length);
  if (call === 'snapshot') {
    const folder = await store.snapshot();
    return answerJson(res, 200, { status: 'success', data: { name: folder.slice(folder.lastIndexOf('/') + 1) } });
  }
  if (call !== 'delete_series') return refuse(res, 404, 'not_found', 'no such admin call');
  const selectors = params.getAll('match[]');
  if (selectors.length === 0) return refuse(res, 400, 'bad_data', 'no match[] parameter provided');
  const sets: (readonly Matcher[])[] = selectors.map((text) => parseSelector(text).matchers);
  const start = timeOf(params.get('start'), -Infinity);
  const end = timeOf(params.get('end'), Infinity);
  if (start === undefined || end === undefined) {
    const name = start === undefined ? 'start' : 'end';
    const value = JSON.stringify(params.get(name));
    return refuse(res, 400, 'bad_data', `invalid parameter "${name}": cannot parse ${value} to a valid timestamp`);
  }
  // All are tried before the first one deletes anything.
  const prepared: (readonly Matcher[])[] = [];
  for (const matchers of sets) prepared.push(await store.prepare(matchers, start, end, new Pace()));
  let touched = 0;
  for (const matchers of prepared) touched += await store.delete(matchers, start, end);
  logger.info('store: samples deleted', { selectors, start, end, touched });
  res.writeHead(204).end();
}

const number = new RegExp(`^[+-]?${decimalSource}$`);

/** A time parameter in ms: `missing` if it is absent or empty, undefined for a text that is not a time. */
function timeOf(text: string | null, missing: number): number | undefined {
  if (text === null || text === '') return missing;
  if (!number.test(text)) return parseRfc3339(text);
  const ms = Math.round(Number(text) * 1000);
  return Number.isFinite(ms) ? ms : undefined;
}

function refuse(res: ServerResponse, status: number, errorType: string, error: string): void {
  if (res.headersSent) return void res.destroy();
  if (status === 404) return answerText(res, 404, 'text/plain; charset=utf-8', '404 page not found\n');
  answerJson(res, status, { status: 'error', errorType, error });
}

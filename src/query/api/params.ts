import type { IncomingMessage } from 'node:http';
import { parseSelector, QueryError, TextLimits } from '../../promql/index.ts';
import type { Matcher } from '../../promql/index.ts';
import { executionPaths } from '../fanout/pushdown-report.ts';
import type { ExecutionPath } from '../fanout/pushdown-report.ts';
import { ApiError, invalidParameter } from './api-error.ts';
import type { RequestBody } from './request-body.ts';
import { parseDurationParameter, parseTime } from '../json/times.ts';

/** Enough for the longest query with each of its characters escaped (nine bytes), and for the form's other fields. */
const maxFormBytes = 1_310_720;
/** The most parameters of a form. To parse a form takes time in proportion to the square of their number. */
const maxFormParams = 10_000;
/** Memory of a parameter beside its characters. Bytes. */
const paramBytes = 100;

/**
 * The parameters of a request: those of a POST form before those of the URL, as in Go. Errors: ApiError bad_data; those
 * of `body`.
 */
export async function readParams(req: IncomingMessage, body: RequestBody): Promise<URLSearchParams> {
  const address = new URLSearchParams(req.url?.split('?').slice(1).join('?') ?? '');
  const type = req.headers['content-type'] ?? '';
  if (req.method !== 'POST' || !type.startsWith('application/x-www-form-urlencoded')) return address;
  const form = await body.read(req, maxFormBytes);
  body.take(countParams(form) * paramBytes);
  const params = new URLSearchParams(form.toString());
  for (const [name, value] of address) params.append(name, value);
  return params;
}

/** The number of parameters of a form, before it is parsed. Errors: ApiError bad_data for too many. */
function countParams(form: Buffer): number {
  let count = 1;
  for (let at = form.indexOf('&'); at >= 0; at = form.indexOf('&', at + 1)) {
    if (++count > maxFormParams) throw new ApiError('bad_data', `form has more than ${maxFormParams} parameters`);
  }
  return count;
}

/** The time in parameter `name`, or `fallback` when the parameter is not given. Milliseconds. */
export function timeParam(params: URLSearchParams, name: string, fallback: number): number {
  const text = params.get(name) ?? '';
  if (text === '') return fallback;
  const ms = parseTime(text);
  if (ms !== undefined) return ms;
  throw invalidParameter(
    name,
    `invalid time value for '${name}': cannot parse ${JSON.stringify(text)} to a valid timestamp`,
  );
}

/** The time in parameter `name`, which is required. Milliseconds. */
export function requiredTime(params: URLSearchParams, name: string): number {
  const text = params.get(name) ?? '';
  const ms = parseTime(text);
  if (ms === undefined) throw invalidParameter(name, `cannot parse ${JSON.stringify(text)} to a valid timestamp`);
  return ms;
}

/** The duration in parameter `name` in milliseconds; undefined when the parameter is not given. */
export function durationParam(params: URLSearchParams, name: string): number | undefined {
  const text = params.get(name) ?? '';
  return text === '' ? undefined : requiredDuration(params, name);
}

export function requiredDuration(params: URLSearchParams, name: string): number {
  const text = params.get(name) ?? '';
  const ms = parseDurationParameter(text);
  if (ms === undefined) throw invalidParameter(name, `cannot parse ${JSON.stringify(text)} to a valid duration`);
  return ms;
}

/** The most elements that an answer may have; 0 means all. */
export function limitParam(params: URLSearchParams): number {
  const text = params.get('limit') ?? '';
  const limit = wholeNumber(text) ?? 0;
  if (Number.isNaN(limit)) {
    throw invalidParameter('limit', `cannot parse ${JSON.stringify(text)} to a whole number`);
  }
  if (limit < 0) throw invalidParameter('limit', 'limit must be non-negative');
  return limit;
}

/** A whole number that may be negative; undefined for no text, NaN for text that is not a whole number. */
export function wholeNumber(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  return /^[+-]?\d+$/.test(text) ? Number(text) : NaN;
}

/** The selectors in `match[]`, each a list of matchers; they share the limits of a query. */
export function matcherSets(params: URLSearchParams): Matcher[][] {
  const limits = new TextLimits();
  return params.getAll('match[]').map((text) => selectorParam('match[]', text, limits));
}

/** The matchers of the selector in parameter `name`. Errors: ApiError bad_data. */
export function selectorParam(name: string, text: string, limits = new TextLimits()): Matcher[] {
  try {
    return [...parseSelector(text, limits).matchers];
  } catch (error) {
    if (!(error instanceof QueryError)) throw error;
    const matchesAll = error.message.endsWith('at least one non-empty matcher');
    throw invalidParameter(name, matchesAll ? `${name} must contain at least one non-empty matcher` : error.message);
  }
}

/** Our own parameter: `false` refuses an answer that lacks a node. Default true. */
export function partialResponseParam(params: URLSearchParams): boolean {
  const text = params.get('partial_response') ?? '';
  if (text === '' || text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw invalidParameter('partial_response', `cannot parse ${JSON.stringify(text)} to a boolean`);
}

/** Our own header that forces an execution path: `X-Svc-Pushdown: off|series|agg|whole`. */
export function pushdownHeader(req: IncomingMessage): ExecutionPath | undefined {
  const text = req.headers['x-svc-pushdown'] ?? '';
  if (text === '') return undefined;
  const path = executionPaths.find((one) => one === text);
  if (path !== undefined) return path;
  throw new ApiError(
    'bad_data',
    `invalid header "X-Svc-Pushdown": ${JSON.stringify(text)} is none of off, series, agg, whole`,
  );
}

import { RE2JS } from 're2js';
import { parseDuration } from '../../base/duration.ts';
import { OperatorError } from '../../base/errors.ts';
import type { StreamItem } from './stream-ring.ts';

/** What a reader of the stream asks for. */
export interface StreamQuery {
  /** The newest `number` items that match; Infinity for all. */
  readonly number: number;
  /** Go on with new items instead of ending. */
  readonly follow: boolean;
  /** The oldest `number` items instead of the newest. */
  readonly first: boolean;
  /** Bounds on the items' time, ms since the epoch. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly matches: (item: StreamItem) => boolean;
}

const known = new Set([
  'number',
  'first',
  'follow',
  'since',
  'until',
  'namespace',
  'pod',
  'workload',
  'service',
  'method',
  'path',
  'status',
  'minDuration',
  'traceId',
]);

/**
 * Reads the query of `GET /v1/spans`. Values of one field are OR-ed (`method=GET&method=PUT`), fields are AND-ed.
 * `pod` is `ns/prefix` or `prefix`; `path` is an RE2 pattern that matches the whole path; `status` is `404`, `5+`
 * (500 and above), `500-599`, `ok` or `error`; times are RFC 3339 or a duration before now.
 * Errors: ERR_INPUT_INVALID that names the field.
 */
export function parseStreamQuery(params: URLSearchParams, nowMs: number): StreamQuery {
  for (const name of params.keys()) if (!known.has(name)) throw invalid(name, 'is not a field of this query');
  const follow = flag(params, 'follow');
  const first = flag(params, 'first');
  if (first && follow) throw invalid('first', 'excludes follow');
  const tests: ((item: StreamItem) => boolean)[] = [];
  const anyOf = (name: string, make: (value: string) => (item: StreamItem) => boolean): void => {
    const options = params.getAll(name).map(make);
    if (options.length > 0) tests.push((item) => options.some((test) => test(item)));
  };
  anyOf('namespace', (v) => (i) => i.span.namespace === v);
  anyOf('pod', podTest);
  anyOf('workload', (v) => (i) => i.span.workload?.name === v);
  anyOf('service', (v) => (i) => i.span.service === v);
  anyOf('method', (v) => (i) => i.span.method === v.toUpperCase());
  anyOf('path', pathTest);
  anyOf('status', statusTest);
  anyOf('traceId', (v) => (i) => i.span.traceId === v.toLowerCase());
  anyOf('minDuration', (v) => {
    const ns = parseDuration(v, 'minDuration') * 1e6;
    return (i) => i.span.durationNs >= ns;
  });
  return {
    number: count(params.get('number'), follow),
    follow,
    first,
    sinceMs: time(params.get('since'), 'since', nowMs) ?? -Infinity,
    untilMs: time(params.get('until'), 'until', nowMs) ?? Infinity,
    matches: (item) => tests.every((test) => test(item)),
  };
}

function count(text: string | null, follow: boolean): number {
  if (text === null) return follow ? 0 : 100;
  if (text === 'all') return Infinity;
  if (!/^\d{1,9}$/.test(text)) throw invalid('number', 'must be a whole number or "all"');
  return Number(text);
}

function flag(params: URLSearchParams, name: string): boolean {
  const text = params.get(name);
  if (text === null) return false;
  if (text === '' || text === 'true') return true;
  if (text === 'false') return false;
  throw invalid(name, 'must be true or false');
}

function time(text: string | null, name: string, nowMs: number): number | undefined {
  if (text === null) return undefined;
  if (/^([0-9]+(ms|s|m|h))+$/.test(text)) return nowMs - parseDuration(text, name);
  const ms = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) throw invalid(name, 'must be an RFC 3339 time or a duration');
  return ms;
}

function podTest(value: string): (item: StreamItem) => boolean {
  const slash = value.indexOf('/');
  const namespace = slash < 0 ? undefined : value.slice(0, slash);
  const prefix = value.slice(slash + 1);
  return ({ span }) =>
    (namespace === undefined || span.namespace === namespace) && (span.pod?.startsWith(prefix) ?? false);
}

function pathTest(value: string): (item: StreamItem) => boolean {
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(value);
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', `path: not an RE2 pattern`, { cause });
  }
  return ({ span }) => span.path !== undefined && pattern.matches(span.path);
}

function statusTest(value: string): (item: StreamItem) => boolean {
  if (value === 'ok' || value === 'error' || value === 'unset') return ({ span }) => span.status === value;
  const range = /^(\d{1,3})(?:(\+)|-(\d{1,3}))?$/.exec(value);
  if (!range) throw invalid('status', 'must be a code, a range such as 500-599, 5+, ok or error');
  const widen = (text: string, fill: string): number => Number(text.padEnd(3, fill));
  const low = widen(range[1]!, '0');
  const high = range[2] ? Infinity : widen(range[3] ?? range[1]!, '9');
  return ({ span }) => span.statusCode !== undefined && span.statusCode >= low && span.statusCode <= high;
}

function invalid(name: string, reason: string): OperatorError {
  return new OperatorError('ERR_INPUT_INVALID', `${name}: ${reason}`);
}

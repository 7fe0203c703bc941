import { Type, type Static, type TOptional } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { parseDuration } from '../base/duration.ts';
import { parseJson } from '../base/text/parse-json.ts';
import { longestText, maxMatchCost } from '../base/text/pattern-cost.ts';
import { agentBounds, over, type PatternBounds, PatternLimits } from '../base/text/pattern-limits.ts';
import { parseRfc3339 } from '../base/text/rfc3339.ts';
import { selectorTerms } from '../base/text/selector-terms.ts';
import {
  anyOf,
  type FilterContext,
  type FilterField,
  filterFields,
  invalidField,
  type ItemTest,
  itemTest,
  type Match,
} from './item-filter.ts';
import { concerns, type Recorded } from './records.ts';

const strict = { additionalProperties: false } as const;
const texts = Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), { maxItems: 64 });
const filter = Type.Object(
  Object.fromEntries(filterFields.map((field) => [field, Type.Optional(texts)])) as Record<
    FilterField,
    TOptional<typeof texts>
  >,
  strict,
);

/**
 * A request for the stream of spans and flows; the same over HTTP and gRPC. A filter matches when each of its fields
 * matches, and a field matches when one of its values does. An item is shown when one of `include` matches (or none is
 * given) and none of `exclude` does.
 */
export const streamRequestSchema = Type.Object(
  {
    /** Number of past items. Default: 100, and 0 with `follow`. */
    number: Type.Optional(Type.Integer({ minimum: 0 })),
    /** All past items, instead of a number. */
    all: Type.Optional(Type.Boolean()),
    /** The oldest items instead of the newest. Excludes `follow` and `after`. */
    first: Type.Optional(Type.Boolean()),
    follow: Type.Optional(Type.Boolean()),
    /** RFC 3339, or a duration before now. */
    since: Type.Optional(Type.String({ maxLength: 64 })),
    until: Type.Optional(Type.String({ maxLength: 64 })),
    include: Type.Optional(Type.Array(filter, { maxItems: 64 })),
    exclude: Type.Optional(Type.Array(filter, { maxItems: 64 })),
    /** `span`, `flow`. Default: both. */
    types: Type.Optional(
      Type.Array(Type.Union([Type.Literal('span'), Type.Literal('flow')]), { maxItems: 2, uniqueItems: true }),
    ),
    /**
     * Only items of these namespaces, whatever the filters match. A flow belongs to the namespaces of both its ends.
     */
    namespaces: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { maxItems: 50_000 })),
    /**
     * Messages carry the position of the stream, for `after`; the first message is a `node_status` with the position.
     */
    cursors: Type.Optional(Type.Boolean()),
    /** Resume after this position instead of starting with `number` past items. */
    after: Type.Optional(Type.String({ maxLength: 64 })),
  },
  strict,
);
export type StreamRequest = Static<typeof streamRequestSchema>;

/** A parsed request of the stream. */
export interface StreamQuery {
  /** How many matching past items to show, the newest unless `first`. Infinity for all. */
  readonly number: number;
  /** Continue with new items instead of ending. */
  readonly follow: boolean;
  /** The oldest `number` items instead of the newest. */
  readonly first: boolean;
  /** Bounds on the items' time, ms since the epoch. */
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly cursors: boolean;
  readonly after: string | undefined;
  readonly matches: (item: Recorded) => Match;
  /** Most work that `matches` can be for an item, in the units of `Pacing`. */
  readonly work: (item: Recorded) => number;
}

/** The most text of all filters of a request. Units: characters. */
const maxFilterText = 65_536;
/** The most requirements of label selectors and values of `ip` in all filters of a request. */
const maxTests = 1_000;

/**
 * Work of the fields of an item; of the test of one value or one requirement of a label selector; and of the test of an
 * item's addresses: some microseconds, a tenth of one, and ten.
 */
const itemWork = 200;
const valueWork = 10;
const ipWork = 1_000;
/** Work for each character of a path and each unit of the cost of patterns: at most 80 ns. */
const patternWork = 8;

const check = TypeCompiler.Compile(streamRequestSchema);

/** Validates a value from outside as a request. Errors: ERR_INPUT_INVALID that names the field. */
export function parseStreamRequest(value: unknown): StreamRequest {
  if (check.Check(value)) return value;
  const first = check.Errors(value).First();
  throw invalidField(first?.path.slice(1) || 'request', first?.message ?? 'is not valid');
}

/**
 * Converts a request to a query. `bounds` limits the patterns of paths. Nothing is compiled before all limits are
 * checked.
 * Errors: ERR_INPUT_INVALID that names the field.
 */
export function streamQuery(
  request: StreamRequest,
  nowMs: number,
  context: FilterContext,
  bounds: PatternBounds = agentBounds,
): StreamQuery {
  const follow = request.follow ?? false;
  const first = request.first ?? false;
  if (first && follow) throw invalidField('first', 'excludes follow');
  if (first && request.after !== undefined) throw invalidField('after', 'excludes first');
  const namespaces = request.namespaces && new Set(request.namespaces);
  const filters = [...(request.include ?? []), ...(request.exclude ?? [])];
  const valuesWork = workOfValues(filters);
  const cost = costOfPaths(filters, bounds);
  const own = { ...context, namespaces, longestPath: longestText(cost) };
  const include = (request.include ?? []).map((values) => itemTest(values, own));
  const exclude = (request.exclude ?? []).map((values) => itemTest(values, own));
  const types = request.types && request.types.length === 1 ? request.types[0] : undefined;
  const some = (tests: readonly ItemTest[], item: Recorded): Match => anyOf(tests, (test) => test(item));
  return {
    number: request.all ? Infinity : (request.number ?? (follow ? 0 : 100)),
    follow,
    first,
    sinceMs: time(request.since, 'since', nowMs) ?? -Infinity,
    untilMs: time(request.until, 'until', nowMs) ?? Infinity,
    cursors: request.cursors ?? false,
    after: request.after,
    matches: (item) => {
      if (namespaces !== undefined && !concerns(item, namespaces)) return false;
      if (types !== undefined && item[types] === undefined) return false;
      const included = include.length === 0 || some(include, item);
      // Only a definite match of `exclude` hides an item; an undecided one does not.
      return included !== false && some(exclude, item) === true ? false : included;
    },
    work: ({ span }) => itemWork + valuesWork + patternWork * Math.min(maxMatchCost, cost * (span?.path?.length ?? 0)),
  };
}

/**
 * The work of testing an item against all values, without that of patterns. Errors: ERR_INPUT_INVALID for more text,
 * or for more requirements and addresses, than a request may have.
 */
function workOfValues(filters: NonNullable<StreamRequest['include']>): number {
  let [text, tests, work] = [0, 0, 0];
  for (const [field, value] of filters.flatMap(valuesOf)) {
    text += value.length;
    const tooLong = over('characters of all filters', text, maxFilterText);
    if (tooLong !== null) throw invalidField(field, tooLong);
    const count = field === 'labelSelector' ? selectorTerms(value, field).length : 1;
    if (field === 'labelSelector' || field === 'ip') tests += count;
    const tooMany = over('requirements of label selectors and addresses', tests, maxTests);
    if (tooMany !== null) throw invalidField(field, tooMany);
    work += count * (field === 'ip' ? ipWork : valueWork);
  }
  return work;
}

function valuesOf(filter: NonNullable<StreamRequest['include']>[number]): [FilterField, string][] {
  return filterFields.flatMap((field) => (filter[field] ?? []).map((value): [FilterField, string] => [field, value]));
}

/** What all patterns of paths cost for each character. Errors: ERR_INPUT_INVALID for more of them than the bounds allow. */
function costOfPaths(filters: NonNullable<StreamRequest['include']>, bounds: PatternBounds): number {
  const limits = new PatternLimits(bounds);
  for (const pattern of filters.flatMap(({ path }) => path ?? [])) {
    const reason = limits.add(pattern);
    if (reason !== null) throw invalidField('path', reason);
  }
  return limits.matchCost;
}

function time(text: string | undefined, name: string, nowMs: number): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^([0-9]+(ms|s|m|h))+$/.test(text)) return nowMs - parseDuration(text, name);
  const ms = parseRfc3339(text);
  if (ms === undefined) throw invalidField(name, 'must be an RFC 3339 time or a duration');
  return ms;
}

/** The default types of each path of the stream. */
const paths: Readonly<Record<string, StreamRequest['types']>> = {
  '/v1/stream': undefined,
  '/v1/spans': ['span'],
  '/v1/flows': ['flow'],
};
export const streamPaths: readonly string[] = Object.keys(paths);

/** A request with the default types of its path. */
export function requestOfPath(path: string, request: StreamRequest): StreamRequest {
  const types = request.types ?? paths[path];
  return types ? { ...request, types } : request;
}

/** The largest accepted request. Units: bytes. */
export const maxRequestBytes = 2 * 1024 * 1024;

/** A JSON body as a request. Errors: ERR_INPUT_INVALID that names the field. */
export function requestOfBody(body: Buffer): StreamRequest {
  return parseStreamRequest(parseJson(body, 'body'));
}

/**
 * The request in a URL's query: `number=all`; flags as `follow` or `follow=true`; `include` and `exclude` as JSON
 * objects, any number of them. Parameters named after filter fields form one more include filter:
 * `namespace=shop&status=5%2B`.
 * Errors: ERR_INPUT_INVALID that names the field.
 */
export function requestOfParams(params: URLSearchParams): StreamRequest {
  const request: Record<string, unknown> = {};
  const own: Record<string, string[]> = {};
  for (const name of new Set(params.keys())) {
    const values = params.getAll(name);
    const text = values.at(-1)!;
    if (name === 'number' && text === 'all') request['all'] = true;
    else if (name === 'number') request['number'] = wholeNumber(text);
    else if (name === 'first' || name === 'follow' || name === 'cursors') request[name] = flag(name, text);
    else if (name === 'since' || name === 'until' || name === 'after') request[name] = text;
    else if (name === 'namespaces') request[name] = values;
    else if (name === 'types') request['types'] = values.flatMap((v) => v.split(','));
    else if (name === 'include' || name === 'exclude') request[name] = values.map((v) => json(name, v));
    else if ((filterFields as readonly string[]).includes(name)) own[name] = values;
    else throw invalidField(name, 'is not a field of this query');
  }
  if (Object.keys(own).length > 0) request['include'] = [...((request['include'] as unknown[]) ?? []), own];
  return parseStreamRequest(request);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw invalidField('number', 'must be a whole number or "all"');
  return Number(text);
}

function flag(name: string, text: string): boolean {
  if (text === '' || text === 'true') return true;
  if (text === 'false') return false;
  throw invalidField(name, 'must be true or false');
}

function json(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidField(name, 'must be a JSON object of fields and lists of values');
  }
}

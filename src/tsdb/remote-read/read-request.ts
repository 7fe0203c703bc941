import { OperatorError } from '../../base/errors.ts';
import { agentBounds, over, PatternLimits } from '../../base/text/pattern-limits.ts';
import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Matcher, MatchType } from '../matcher.ts';
import { type LabelMatcher, readReadRequest, writeReadRequest } from './remote.pb.ts';

/** The format of the answer. Numbers of prometheus.ReadRequest.ResponseType. */
export const responseType = { samples: 0, streamedXorChunks: 1 } as const;

/** Hints of the requesting engine; none of them may change the meaning of the answer. Times in ms. */
export interface ReadHints {
  readonly stepMs?: number;
  /** Innermost function around the selector; `series` means that no samples are needed. */
  readonly func?: string;
  readonly startMs?: number;
  readonly endMs?: number;
  readonly grouping?: readonly string[];
  readonly by?: boolean;
  readonly rangeMs?: number;
}

/** One query of a remote-read request: matchers and a time range, both ends inclusive. */
export interface ReadQuery {
  /** `startMs` and `endMs` are both inclusive. Units: ms. */
  readonly startMs: number;
  readonly endMs: number;
  readonly matchers: readonly Matcher[];
  readonly hints?: ReadHints;
}

/** prometheus.ReadRequest. `accepted` is in the client's order of preference; empty means SAMPLES. */
export interface ReadRequest {
  readonly queries: readonly ReadQuery[];
  readonly accepted: readonly number[];
}

/**
 * Limits of one request. A query server needs at most 150 queries and 6,300 matchers: its own limits are 50 selectors and
 * 2,000 matchers, and for a caller who may see some namespaces only it sends each selector as three.
 */
const limits = { queries: 1_000, matchers: 10_000 } as const;

const matchTypes: readonly MatchType[] = ['=', '!=', '=~', '!~'];

/** Field keys of remote.proto: `ReadRequest.queries` and `Query.matchers`. */
const [queryKey, matcherKey] = [10, 26];

const noHints = { stepMs: 0, func: '', startMs: 0, endMs: 0, grouping: [], by: false, rangeMs: 0 };

/** The largest double that an int64 holds. */
const lastInt64 = 2 ** 63 - 1024;

/** The largest request that a server takes by default. Bytes, before snappy. */
export const maxReadRequestBytes = 2 * 1024 * 1024;

/** Upper bounds of what a matcher, a hint and the rest of a query take in a request beside their texts. Bytes. */
const [matcherBytes, hintBytes, queryBytes] = [24, 8, 128];

/**
 * The queries in their order, in as few requests as a server takes that reads `maxBytes`. A query that is longer is in
 * a request of its own.
 */
export function splitQueries(queries: readonly ReadQuery[], maxBytes = maxReadRequestBytes): ReadQuery[][] {
  const requests: ReadQuery[][] = [];
  let left = 0;
  for (const query of queries) {
    const bytes = bytesOfQuery(query);
    left -= bytes;
    if (left < 0) {
      requests.push([]);
      left = maxBytes - bytes;
    }
    requests.at(-1)!.push(query);
  }
  return requests;
}

function bytesOfQuery({ matchers, hints }: ReadQuery): number {
  let bytes = queryBytes + Buffer.byteLength(hints?.func ?? '');
  for (const label of hints?.grouping ?? []) bytes += hintBytes + Buffer.byteLength(label);
  for (const { name, value } of matchers) bytes += matcherBytes + Buffer.byteLength(name) + Buffer.byteLength(value);
  return bytes;
}

/** The protobuf bytes of a request, before snappy. Times that no int64 holds become the nearest that one holds. */
export function encodeReadRequest({ queries, accepted }: ReadRequest): Uint8Array {
  const messages = queries.map(({ matchers, hints, startMs, endMs }) => ({
    startMs: int64Time(startMs),
    endMs: int64Time(endMs),
    matchers: matchers.map((matcher) => ({ ...matcher, type: matchTypes.indexOf(matcher.type) })),
    hints: hints ? hintsMessage({ ...noHints, ...hints }) : null,
  }));
  return writeReadRequest(new WireWriter(), { queries: messages, accepted }).finish();
}

function hintsMessage(hints: Required<ReadHints>): Required<ReadHints> {
  return { ...hints, startMs: int64Time(hints.startMs), endMs: int64Time(hints.endMs) };
}

/** `@` can name a time that is a thousand times the last one of an int64. */
function int64Time(ms: number): number {
  return Math.min(Math.max(ms, -(2 ** 63)), lastInt64);
}

/**
 * Reads a request. Unknown fields are skipped, as the format demands.
 * Errors: ERR_INPUT_INVALID, also for more queries, matchers or regular expressions than one request may have.
 */
export function decodeReadRequest(bytes: Uint8Array): ReadRequest {
  countParts(bytes);
  const { queries, accepted } = readReadRequest(new WireReader(bytes));
  const patterns = new PatternLimits(agentBounds);
  for (const { type, value } of queries.flatMap(({ matchers }) => matchers))
    if (matchTypes[type]?.endsWith('~')) refuse(patterns.add(value));
  return {
    queries: queries.map(({ matchers, hints, ...range }) => ({
      ...range,
      matchers: matchers.map(matcherOf),
      ...(hints && { hints }),
    })),
    accepted,
  };
}

/** Counts before anything is decoded: an empty query has two bytes on the wire, and a hundred in memory. */
function countParts(bytes: Uint8Array): void {
  let queries = 0;
  let matchers = 0;
  const request = new WireReader(bytes);
  while (!request.done) {
    const key = request.key();
    if (key !== queryKey) {
      request.skip(key & 7);
      continue;
    }
    refuse(over('queries', ++queries, limits.queries));
    for (const query = request.message(); !query.done;) {
      const field = query.key();
      if (field === matcherKey) refuse(over('matchers', ++matchers, limits.matchers));
      query.skip(field & 7);
    }
  }
}

function refuse(reason: string | null): void {
  if (reason !== null) throw new OperatorError('ERR_INPUT_INVALID', `read request is too large: ${reason}`);
}

function matcherOf({ type, name, value }: LabelMatcher): Matcher {
  const known = matchTypes[type];
  if (!known) throw new OperatorError('ERR_INPUT_INVALID', `invalid matcher type ${type}`);
  return { type: known, name, value };
}

/** The first supported type of the client's list; an empty list means SAMPLES. Errors: ERR_INPUT_INVALID. */
export function negotiateResponse(accepted: readonly number[]): number {
  if (accepted.length === 0) return responseType.samples;
  const type = accepted.find((t) => t === responseType.samples || t === responseType.streamedXorChunks);
  if (type !== undefined) return type;
  throw new OperatorError(
    'ERR_INPUT_INVALID',
    `server does not support any of the requested response types: [${accepted.join(' ')}]; supported: [SAMPLES STREAMED_XOR_CHUNKS]`,
  );
}

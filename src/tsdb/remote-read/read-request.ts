import { OperatorError } from '../../base/errors.ts';
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

const matchTypes: readonly MatchType[] = ['=', '!=', '=~', '!~'];

const noHints = { stepMs: 0, func: '', startMs: 0, endMs: 0, grouping: [], by: false, rangeMs: 0 };

/** The protobuf bytes of a request, before snappy. */
export function encodeReadRequest({ queries, accepted }: ReadRequest): Uint8Array {
  const messages = queries.map(({ matchers, hints, ...range }) => ({
    ...range,
    matchers: matchers.map((matcher) => ({ ...matcher, type: matchTypes.indexOf(matcher.type) })),
    hints: hints ? { ...noHints, ...hints } : null,
  }));
  return writeReadRequest(new WireWriter(), { queries: messages, accepted }).finish();
}

/** Errors: ERR_INPUT_INVALID. Unknown fields are skipped, as the format demands. */
export function decodeReadRequest(bytes: Uint8Array): ReadRequest {
  const { queries, accepted } = readReadRequest(new WireReader(bytes));
  return {
    queries: queries.map(({ matchers, hints, ...range }) => ({
      ...range,
      matchers: matchers.map(matcherOf),
      ...(hints && { hints }),
    })),
    accepted,
  };
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

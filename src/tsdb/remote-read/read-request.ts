import { OperatorError } from '../../base/errors.ts';
import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { Matcher, MatchType } from '../matcher.ts';

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
  /** Both inclusive, ms. */
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

/** The protobuf bytes of a request, before snappy. */
export function encodeReadRequest({ queries, accepted }: ReadRequest): Uint8Array {
  const out = new WireWriter();
  for (const query of queries) {
    out.message(1, (q) => {
      q.int(1, query.startMs).int(2, query.endMs);
      for (const { type, name, value } of query.matchers) {
        q.message(3, (m) => void m.uint(1, matchTypes.indexOf(type)).string(2, name).string(3, value));
      }
      const { hints } = query;
      if (hints) q.message(4, (h) => writeHints(h, hints));
    });
  }
  if (accepted.length > 0) {
    const packed = new WireWriter(8);
    for (const type of accepted) packed.rawVarint(type);
    out.bytes(2, packed.finish());
  }
  return out.finish();
}

/** Errors: ERR_INPUT_INVALID. Unknown fields are skipped, as the format demands. */
export function decodeReadRequest(bytes: Uint8Array): ReadRequest {
  const reader = new WireReader(bytes);
  const queries: ReadQuery[] = [];
  const accepted: number[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === tag(1, 2)) queries.push(readQuery(reader.message()));
    else if (key === tag(2, 2)) for (const packed = reader.message(); !packed.done;) accepted.push(packed.uint());
    else if (key === tag(2, 0)) accepted.push(reader.uint());
    else reader.skip(key & 7);
  }
  return { queries, accepted };
}

function readQuery(reader: WireReader): ReadQuery {
  let startMs = 0;
  let endMs = 0;
  let hints: ReadHints | undefined;
  const matchers: Matcher[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === tag(1, 0)) startMs = reader.int();
    else if (key === tag(2, 0)) endMs = reader.int();
    else if (key === tag(3, 2)) matchers.push(readMatcher(reader.message()));
    else if (key === tag(4, 2)) hints = readHints(reader.message());
    else reader.skip(key & 7);
  }
  return hints ? { startMs, endMs, matchers, hints } : { startMs, endMs, matchers };
}

function readMatcher(reader: WireReader): Matcher {
  let type = 0;
  let name = '';
  let value = '';
  while (!reader.done) {
    const key = reader.key();
    if (key === tag(1, 0)) type = reader.uint();
    else if (key === tag(2, 2)) name = reader.string();
    else if (key === tag(3, 2)) value = reader.string();
    else reader.skip(key & 7);
  }
  const known = matchTypes[type];
  if (!known) throw new OperatorError('ERR_INPUT_INVALID', `invalid matcher type ${type}`);
  return { type: known, name, value };
}

function readHints(reader: WireReader): ReadHints {
  const hints: { -readonly [K in keyof ReadHints]: ReadHints[K] } = {};
  const grouping: string[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === tag(1, 0)) hints.stepMs = reader.int();
    else if (key === tag(2, 2)) hints.func = reader.string();
    else if (key === tag(3, 0)) hints.startMs = reader.int();
    else if (key === tag(4, 0)) hints.endMs = reader.int();
    else if (key === tag(5, 2)) grouping.push(reader.string());
    else if (key === tag(6, 0)) hints.by = reader.bool();
    else if (key === tag(7, 0)) hints.rangeMs = reader.int();
    else reader.skip(key & 7);
  }
  return grouping.length > 0 ? { ...hints, grouping } : hints;
}

function writeHints(out: WireWriter, hints: ReadHints): void {
  if (hints.stepMs) out.int(1, hints.stepMs);
  if (hints.func) out.string(2, hints.func);
  if (hints.startMs) out.int(3, hints.startMs);
  if (hints.endMs) out.int(4, hints.endMs);
  for (const label of hints.grouping ?? []) out.string(5, label);
  if (hints.by) out.uint(6, 1);
  if (hints.rangeMs) out.int(7, hints.rangeMs);
}

function tag(field: number, wireType: number): number {
  return field * 8 + wireType;
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

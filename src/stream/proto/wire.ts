import { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { OperatorError } from '../../base/errors.ts';
import { filterFields } from '../item-filter.ts';
import { parseStreamRequest, type StreamRequest } from '../stream-query.ts';
import type { StreamMessage } from '../stream-message.ts';
import { writeReadResponse } from './stream.pb.ts';

/** The gRPC path of the method in `stream.proto`. It is a constant, because nothing loads that file at run time. */
export const readPath = '/svc.stream.v1.Stream/Read';

/** One writer for all messages: tens of thousands are encoded each second. */
const writer = new WireWriter(16 * 1024);

export function encodeMessage(message: StreamMessage): Buffer {
  return Buffer.from(writeReadResponse(writer.reset(), message).finish());
}

/** Fields of a ReadRequest by number, in the order of `stream.proto`. */
const requestFields: readonly (readonly [keyof StreamRequest, 'uint' | 'bool' | 'string' | 'strings' | 'filters'])[] = [
  ['number', 'uint'],
  ['all', 'bool'],
  ['first', 'bool'],
  ['follow', 'bool'],
  ['since', 'string'],
  ['until', 'string'],
  ['include', 'filters'],
  ['exclude', 'filters'],
  ['types', 'strings'],
  ['namespaces', 'strings'],
  ['cursors', 'bool'],
  ['after', 'string'],
];

/**
 * Decodes a request. The decoder is not generated, unlike those of other messages: a member that was not sent must stay
 * absent, and a field of the wrong wire type is refused.
 * Errors: ERR_INPUT_INVALID for bytes that are not a ReadRequest, or for values that the request schema refuses.
 */
export function decodeRequest(bytes: Uint8Array): StreamRequest {
  const read = new WireReader(bytes);
  const request: Record<string, unknown> = {};
  while (!read.done) {
    const key = read.key();
    const [name, type] = requestFields[(key >>> 3) - 1] ?? [];
    if (name === undefined || type === undefined) {
      read.skip(key & 7);
      continue;
    }
    const expected = type === 'uint' || type === 'bool' ? 0 : 2;
    if ((key & 7) !== expected) throw new OperatorError('ERR_INPUT_INVALID', `field ${key >>> 3}: wrong wire type`);
    const list = (): unknown[] => (request[name] ??= []) as unknown[];
    if (type === 'filters') list().push(decodeFilter(read.message()));
    else if (type === 'strings') list().push(read.string());
    else request[name] = read[type]();
  }
  return parseStreamRequest(request);
}

/** Reads a filter; `filterFields` has the order of `stream.proto`. */
function decodeFilter(read: WireReader): Record<string, string[]> {
  const filter: Record<string, string[]> = {};
  while (!read.done) {
    const key = read.key();
    const name = filterFields[(key >>> 3) - 1];
    if (name === undefined || (key & 7) !== 2) read.skip(key & 7);
    else (filter[name] ??= []).push(read.string());
  }
  return filter;
}

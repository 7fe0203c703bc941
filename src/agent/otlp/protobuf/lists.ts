import type { WireReader } from '../../../base/wire/protobuf-wire.ts';
import type { Cursor } from '../decode-limits.ts';
import type { Exemplar } from '../model.ts';
import { fixed64Number, packedLength, repeatedScalar } from './fields.ts';

/** The wire type of fixed64 and double. */
const fixed64Wire = 1;

/**
 * Appends bucket counts to those read before in the same point. Only unusual senders split them, down to a field for
 * each count, so that nothing is copied.
 */
export function readCounts(cursor: Cursor, wireType: number, message: WireReader, before: number[]): number[] {
  const n = before.length > 0 ? -1 : packedLength(cursor, 'bucket_counts', wireType, message);
  if (n < 0) {
    const counts = before.length > 0 ? before : [];
    repeatedScalar(cursor, 'bucket_counts', wireType, fixed64Wire, message, fixed64Number, counts);
    return counts;
  }
  const start = message.pos - 8 * n;
  const counts = new Array<number>(n);
  for (let i = 0; i < n; i++) counts[i] = message.fixed64At(start + 8 * i);
  return counts;
}

/** Like `readCounts`, for bounds. Points that have the same bounds share one list, which is copied at most once. */
export function readBounds(
  cursor: Cursor,
  wireType: number,
  message: WireReader,
  before: readonly number[],
): readonly number[] {
  const n = before.length > 0 ? -1 : packedLength(cursor, 'explicit_bounds', wireType, message);
  if (n >= 0) return cursor.bounds.read(message, message.pos - 8 * n, n);
  const bounds = cursor.bounds.own(before);
  repeatedScalar(cursor, 'explicit_bounds', wireType, fixed64Wire, message, readDouble, bounds);
  return bounds;
}

/** Appends an exemplar. Most points have none, so the list is created for the first one. */
export function withExemplar(list: Exemplar[], exemplar: Exemplar): Exemplar[] {
  if (list === noExemplars) return [exemplar];
  list.push(exemplar);
  return list;
}

export const noExemplars: Exemplar[] = [];
export const noNumbers: number[] = [];
const readDouble = (reader: WireReader): number => reader.double();
export const readUint = (reader: WireReader): number => reader.uint();

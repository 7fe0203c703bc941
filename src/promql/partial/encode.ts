import { encodeFrame } from '../../base/wire/frames.ts';
import { WireWriter } from '../../base/wire/protobuf-wire.ts';
import type { FragmentResult } from '../plan/fragment.ts';
import { messageOf } from './annotation-message.ts';
import type { PartialHeader, PartialStats } from './answer.ts';
import { DictionaryWriter } from './dictionary.ts';
import { writeDoubles } from './numbers.ts';
import { writeHeader, writeTrailer } from './partial.pb.ts';
import { writeColumn, writeGroup } from './rows.ts';

/** The content type of a partial answer: an agent's result for its part of a query. */
export const partialContentType = 'application/x-svc-partial; v=1';

/** A frame is closed at about this size. Units: bytes. */
const frameBytes = 128 * 1024;
/** Usual size of a row without its doubles. Units: bytes. */
const rowBytes = 64;

/**
 * A node's answer as frames: header, then dictionaries and rows, then the trailer. Each message has one field, whose
 * number is its type (1 header, 2 dictionary, 3 columns, 4 groups, 5 trailer); the dictionary of a frame precedes its
 * rows.
 */
export function* encodePartial(
  header: PartialHeader,
  result: FragmentResult,
  stats: PartialStats,
): Generator<Uint8Array> {
  yield encodeFrame(new WireWriter().message(1, (m) => writeHeader(m, header)).finish());
  const dictionary = new DictionaryWriter();
  const rows = new WireWriter(capacityFor(result));
  const head = new WireWriter(16);
  const flush = function* (kind: number): Generator<Uint8Array> {
    const fresh = dictionary.takeFresh();
    if (fresh.length > 0) {
      const message = new WireWriter().message(2, (m) => fresh.forEach((text) => m.string(1, text)));
      yield encodeFrame(message.finish());
    }
    if (rows.length > 0) {
      const before = head.reset().key(kind, 2).rawVarint(rows.length).finish();
      yield encodeFrame(before, rows.finish());
    }
    rows.reset();
  };
  for (const column of result.columns) {
    const row = rows.open(1);
    writeColumn(rows, column, dictionary);
    rows.close(row);
    if (rows.length + dictionary.freshLength > frameBytes) yield* flush(3);
  }
  yield* flush(3);
  for (const group of result.groups) {
    const row = rows.open(1);
    writeGroup(rows, group, dictionary);
    rows.close(row);
    if (rows.length + dictionary.freshLength > frameBytes) yield* flush(4);
  }
  yield* flush(4);
  yield encodeFrame(trailerMessage(result, stats));
}

/**
 * Initial size of the buffer for a frame's rows, so that the buffer need not grow: a double for each step of a column,
 * and three for each step of a group.
 */
function capacityFor({ columns, groups }: FragmentResult): number {
  const ofColumn = 8 * (columns[0]?.kinds.length ?? 0) + rowBytes;
  const ofGroup = 24 * (groups[0]?.present.length ?? 0) + rowBytes;
  const all = columns.length * ofColumn + groups.length * ofGroup;
  return Math.min(all, frameBytes + Math.max(ofColumn, ofGroup));
}

function trailerMessage(result: FragmentResult, stats: PartialStats): Uint8Array {
  const { columns, groups, samples } = result;
  const annotations = result.annotations.map(messageOf);
  const trailer = {
    ...result,
    ...stats,
    annotations,
    rows: columns.length + groups.length,
    queryable: null,
    read: null,
  };
  const fill = (m: WireWriter): void => {
    writeTrailer(m, trailer);
    if (samples === undefined) return;
    writeDoubles(m, 8, samples.queryable, null);
    writeDoubles(m, 9, samples.read, null);
  };
  return new WireWriter().message(5, fill).finish();
}

import type { WireReader, WireWriter } from '../../base/wire/protobuf-wire.ts';
import { isHistogram, type Column } from '../eval/columns.ts';
import { isFoldOperator, type GroupRow } from '../eval/aggregate/group-rows.ts';
import type { SumState } from '../exact/exact-sums.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import type { FragmentRequest } from '../plan/fragment.ts';
import { axisOf } from '../plan/packed-rows.ts';
import type { Labels } from '../types.ts';
import type { DictionaryReader, DictionaryWriter } from './dictionary.ts';
import { readHistogram, sizeOfHistogram, writeHistogram } from './histogram-message.ts';
import {
  allFloats,
  counts,
  malformed,
  maskOf,
  readDoubles,
  readKinds,
  writeDoubles,
  writeKinds,
  type Mask,
} from './numbers.ts';
import { readRemainder, type Remainder, writeRemainder } from './partial.pb.ts';

/** Writes a series of an agent's answer: its labels, the kind of each step, the floats, the native histograms. */
export function writeColumn(out: WireWriter, column: Column, dictionary: DictionaryWriter): void {
  const { labels, dropName, kinds, values, histograms } = column;
  dictionary.write(out, 1, labels);
  writeKinds(out, 3, kinds);
  writeDoubles(out, 4, values, floatMask(kinds, histograms !== null));
  if (dropName) out.uint(2, 1);
  if (histograms === null) return;
  for (let i = 0; i < kinds.length; i++) if (kinds[i] === isHistogram) writeHistogram(out, 5, histograms[i]!);
}

/** Marks the steps that have a float. */
function floatMask(kinds: Uint8Array, mixed: boolean): Mask {
  return maskOf(mixed ? kinds.map((kind) => (kind === isHistogram ? 0 : kind)) : kinds);
}

/** Size of a row without its steps: its objects, and each of its labels. Units: bytes. */
const [rowBytes, labelBytes] = [224, 16];
/** Size of a remainder, beside twice the bytes of its message. Units: bytes. */
const remainderBytes = 96;

/** Called before memory is taken for what is read. Throws to refuse. Units: bytes. */
export type Hold = (bytes: number) => void;

/** As `Hold`, for the parts of a group. */
export interface GroupHold {
  /** Called for what another node's row of the same group is added to. */
  readonly state: Hold;
  /** Called for the native histograms, of which those of every node are kept. */
  readonly histograms: Hold;
}

/** Reads a series. Errors: ERR_INPUT_INVALID; those of `hold`. */
export function readColumn(reader: WireReader, dictionary: DictionaryReader, steps: number, hold: Hold): Column {
  let labels: Labels = [];
  let dropName = false;
  let kinds: Uint8Array | undefined;
  let [start, end] = [-1, -1];
  const found: FloatHistogram[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) labels = dictionary.labels(reader);
    else if (key === 16) dropName = reader.bool();
    else if (key === 26) {
      const from = reader.span();
      kinds = readKinds(reader.bytes, from, reader.pos, steps);
    } else if (key === 34) {
      start = reader.span();
      end = reader.pos;
    } else if (key === 42) {
      const message = reader.message();
      if (found.length === steps) throw malformed('series has more histograms than steps');
      hold(sizeOfHistogram(message));
      found.push(readHistogram(message));
    } else reader.skip(key & 7);
  }
  if (kinds === undefined || start < 0) throw malformed('series without its steps');
  let wanted = 0;
  if (kinds !== allFloats(steps)) for (let i = 0; i < steps; i++) if (kinds[i] === isHistogram) wanted++;
  if (wanted !== found.length) throw malformed('series has not as many histograms as steps that hold one');
  hold(rowBytes + labelBytes * labels.length + 9 * steps);
  const values = readDoubles(
    reader,
    start,
    end,
    kinds === allFloats(steps) ? null : floatMask(kinds, wanted > 0),
    steps,
  );
  let next = 0;
  const histograms = wanted === 0 ? null : Array.from(kinds, (kind) => (kind === isHistogram ? found[next++]! : null));
  return { labels, kinds, values, histograms, dropName };
}

/** Writes a group of an aggregation: the number of elements at each step, and the operator's own state. */
export function writeGroup(out: WireWriter, row: GroupRow, dictionary: DictionaryWriter): void {
  const { labels, dropName, present, best, sums, holders, ignored } = row;
  const filled = maskOf(present);
  dictionary.write(out, 1, labels);
  writeDoubles(out, 3, present, null);
  if (dropName) out.uint(2, 1);
  if (ignored) out.uint(4, 1);
  if (best !== null) writeDoubles(out, 5, best, filled);
  for (const holder of holders) {
    const column = out.open(6);
    writeColumn(out, holder, dictionary);
    out.close(column);
  }
  if (sums === null) return;
  writeDoubles(out, 7, sums.high, filled);
  writeDoubles(out, 8, sums.low, filled);
  for (const one of sums.rest) out.message(9, (m) => writeRemainder(m, one));
  if (sums.special === null) return;
  const { nan, plus, minus } = sums.special;
  writeDoubles(out, 10, nan, filled);
  writeDoubles(out, 11, plus, filled);
  writeDoubles(out, 12, minus, filled);
}

/** A shared empty list: most groups have no members with native histograms (`holders`) and no remainders of sums. */
const nothing: readonly never[] = [];

/** Byte positions of the columns of the group being read, by field number; a start of −1 means a missing column. */
const starts = new Int32Array(16);
const ends = new Int32Array(16);

/**
 * Reads a group. Errors: ERR_INPUT_INVALID for a state that does not belong to the fragment's operator; those of `hold`.
 */
export function readGroup(
  reader: WireReader,
  dictionary: DictionaryReader,
  fragment: FragmentRequest,
  steps: number,
  hold: GroupHold,
): GroupRow {
  let labels: Labels = [];
  let dropName = false;
  let ignored = false;
  let holders: Column[] | undefined;
  let rest: SumState['rest'][number][] | undefined;
  starts.fill(-1);
  while (!reader.done) {
    const key = reader.key();
    const field = key >> 3;
    if (key === 10) labels = dictionary.pooled(reader);
    else if (key === 16) dropName = reader.bool();
    else if (key === 32) ignored = reader.bool();
    else if (key === 50) (holders ??= []).push(readColumn(reader.message(), dictionary, steps, hold.histograms));
    else if (key === 74) {
      const message = reader.message();
      hold.state(remainderBytes + 2 * (message.end - message.pos));
      (rest ??= []).push(restOf(readRemainder(message)));
    } else if ((key & 7) === 2 && field <= 12) {
      starts[field] = reader.span();
      ends[field] = reader.pos;
    } else reader.skip(key & 7);
  }
  const { op, packed } = fragment;
  const axis = packed === undefined ? 1 : axisOf(labels, packed)?.length;
  if (axis === undefined) throw malformed('packed row without an axis');
  if (axis > 1 && holders !== undefined) throw malformed('packed row with native histograms');
  const length = steps * axis;
  const columns = starts.reduce((count, start) => (start < 0 ? count : count + 1), 0);
  hold.state(rowBytes + labelBytes * labels.length + 8 * length * columns);
  const present = counts(column(reader, 3, null, length));
  const filled = maskOf(present);
  const summed = op === 'sum' || op === 'avg';
  if (op === null || (!isFoldOperator(op) && op !== 'count_values')) throw malformed(`group in an answer to ${op}`);
  if (!summed && (holders !== undefined || rest !== undefined)) throw malformed(`sums in an answer to ${op}`);
  const best = op === 'min' || op === 'max' ? column(reader, 5, filled, length) : null;
  const group = { labels, dropName, present, best, holders: holders ?? nothing, ignored };
  if (!summed) return { ...group, sums: null };
  if (rest?.some(({ step }) => step >= length)) throw malformed('remainder of a sum at no step');
  const high = finite(column(reader, 7, filled, length));
  const low = finite(column(reader, 8, filled, length));
  const special = starts[10]! >= 0 ? specials(reader, filled, length) : null;
  return { ...group, sums: { count: present, high, low, rest: rest ?? nothing, special } };
}

/** Reads the column whose position `readGroup` recorded. */
function column(reader: WireReader, field: number, mask: Mask, steps: number): Float64Array {
  if (starts[field]! < 0) throw malformed(`group without field ${field}`);
  return readDoubles(reader, starts[field]!, ends[field]!, mask, steps);
}

function specials(reader: WireReader, filled: Mask, steps: number): SumState['special'] {
  const of = (field: number): Float64Array => column(reader, field, filled, steps);
  return { nan: of(10), plus: of(11), minus: of(12) };
}

function restOf({ step, values }: Remainder): SumState['rest'][number] {
  if (step === null || !values.every(Number.isFinite)) throw malformed('remainder of a sum at no step');
  return { step, values };
}

function finite(values: Float64Array): Float64Array {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) throw malformed('sum of finite numbers that is not finite');
  }
  return values;
}

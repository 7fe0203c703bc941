import { WireWriter, type WireReader } from '../../base/protobuf-wire.ts';
import { isHistogram, type Column } from '../eval/columns.ts';
import { isFoldOperator, type GroupRow } from '../eval/group-rows.ts';
import type { SumState } from '../exact/exact-sums.ts';
import type { FloatHistogram } from '../histogram/float-histogram.ts';
import type { FragmentRequest } from '../plan/fragment.ts';
import type { Labels } from '../types.ts';
import type { DictionaryReader, DictionaryWriter } from './dictionary.ts';
import { readHistogram, writeHistogram } from './histogram-message.ts';
import { decodeDoubles, decodeKinds, encodeDoubles, encodeKinds, malformed } from './numbers.ts';

/** A series of the answer: its labels, what each step holds, the floats, the native histograms. */
export function encodeColumn(column: Column, dictionary: DictionaryWriter): Uint8Array {
  const { labels, dropName, kinds, values, histograms } = column;
  const floats = histograms === null ? kinds : kinds.map((kind) => (kind === isHistogram ? 0 : kind));
  const out = new WireWriter(64 + 8 * kinds.length);
  out.bytes(1, dictionary.refs(labels)).bytes(3, encodeKinds(kinds)).bytes(4, encodeDoubles(values, floats));
  if (dropName) out.uint(2, 1);
  for (let i = 0; i < kinds.length; i++) if (kinds[i] === isHistogram) writeHistogram(out, 5, histograms![i]!);
  return out.finish();
}

export function decodeColumn(reader: WireReader, dictionary: DictionaryReader, steps: number): Column {
  let labels: Labels = [];
  let dropName = false;
  let kinds: Uint8Array | undefined;
  let packed: Uint8Array | undefined;
  const found: FloatHistogram[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 10) labels = dictionary.labels(reader.view());
    else if (key === 16) dropName = reader.bool();
    else if (key === 26) kinds = decodeKinds(reader.view(), steps);
    else if (key === 34) packed = reader.view();
    else if (key === 42) found.push(readHistogram(reader.message()));
    else reader.skip(key & 7);
  }
  if (kinds === undefined || packed === undefined) throw malformed('series without its steps');
  const wanted = kinds.reduce((sum, kind) => sum + Number(kind === isHistogram), 0);
  if (wanted !== found.length) throw malformed('series has not as many histograms as steps that hold one');
  const floats = wanted === 0 ? kinds : kinds.map((kind) => (kind === isHistogram ? 0 : kind));
  const values = decodeDoubles(packed, floats);
  let next = 0;
  const histograms = wanted === 0 ? null : Array.from(kinds, (kind) => (kind === isHistogram ? found[next++]! : null));
  return { labels, kinds, values, histograms, dropName };
}

/** A group of an aggregation: how many elements each step has, and the operator's own state. */
export function encodeGroup(row: GroupRow, dictionary: DictionaryWriter): Uint8Array {
  const { labels, dropName, present, best, sums, holders, ignored } = row;
  const all = new Uint8Array(present.length).fill(1);
  const filled = maskOf(present);
  const out = new WireWriter(64 + 16 * present.length);
  out.bytes(1, dictionary.refs(labels)).bytes(3, encodeDoubles(present, all));
  if (dropName) out.uint(2, 1);
  if (ignored) out.uint(4, 1);
  if (best !== null) out.bytes(5, encodeDoubles(best, filled));
  for (const holder of holders) out.bytes(6, encodeColumn(holder, dictionary));
  if (sums === null) return out.finish();
  out.bytes(7, encodeDoubles(sums.high, filled)).bytes(8, encodeDoubles(sums.low, filled));
  for (const { step, values } of sums.rest) {
    out.message(9, (m) => {
      m.uint(1, step);
      for (const value of values) m.double(2, value);
    });
  }
  if (sums.special !== null) {
    const { nan, plus, minus } = sums.special;
    out.bytes(10, encodeDoubles(nan, filled)).bytes(11, encodeDoubles(plus, filled));
    out.bytes(12, encodeDoubles(minus, filled));
  }
  return out.finish();
}

/** Errors: ERR_INPUT_INVALID for a state that is not the one of the fragment's operator. */
export function decodeGroup(
  reader: WireReader,
  dictionary: DictionaryReader,
  fragment: FragmentRequest,
  steps: number,
): GroupRow {
  const views = new Map<number, Uint8Array>();
  let labels: Labels = [];
  let dropName = false;
  let ignored = false;
  const holders: Column[] = [];
  const rest: SumState['rest'][number][] = [];
  while (!reader.done) {
    const key = reader.key();
    const field = key >> 3;
    if (key === 10) labels = dictionary.labels(reader.view());
    else if (key === 16) dropName = reader.bool();
    else if (key === 32) ignored = reader.bool();
    else if (key === 50) holders.push(decodeColumn(reader.message(), dictionary, steps));
    else if (key === 74) rest.push(readRest(reader.message(), steps));
    else if ((key & 7) === 2 && field <= 12) views.set(field, reader.view());
    else reader.skip(key & 7);
  }
  const all = new Uint8Array(steps).fill(1);
  const present = decodeDoubles(viewOf(views, 3), all);
  for (const count of present) if (!(count >= 0 && Number.isInteger(count))) throw malformed('count that is none');
  const filled = maskOf(present);
  const column = (field: number): Float64Array => decodeDoubles(viewOf(views, field), filled);
  const { op } = fragment;
  const summed = op === 'sum' || op === 'avg';
  if (op === null || (!isFoldOperator(op) && op !== 'count_values')) throw malformed(`group in an answer to ${op}`);
  if (!summed && (holders.length > 0 || rest.length > 0)) throw malformed(`sums in an answer to ${op}`);
  const special = summed && views.has(10) ? { nan: column(10), plus: column(11), minus: column(12) } : null;
  const sums = summed ? { count: present, high: column(7), low: column(8), rest, special } : null;
  if (sums !== null && ![sums.high, sums.low].every((values) => values.every(Number.isFinite))) {
    throw malformed('sum of finite numbers that is not finite');
  }
  const best = op === 'min' || op === 'max' ? column(5) : null;
  return { labels, dropName, present, best, sums, holders, ignored };
}

function readRest(reader: WireReader, steps: number): SumState['rest'][number] {
  let step = -1;
  const values: number[] = [];
  while (!reader.done) {
    const key = reader.key();
    if (key === 8) step = reader.uint();
    else if (key === 17) values.push(reader.double());
    else reader.skip(key & 7);
  }
  if (step < 0 || step >= steps || !values.every(Number.isFinite)) throw malformed('remainder of a sum at no step');
  return { step, values };
}

function viewOf(views: ReadonlyMap<number, Uint8Array>, field: number): Uint8Array {
  const view = views.get(field);
  if (view === undefined) throw malformed(`group without field ${field}`);
  return view;
}

function maskOf(present: Float64Array): Uint8Array {
  return Uint8Array.from(present, (count) => Number(count !== 0));
}

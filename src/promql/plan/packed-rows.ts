import { parseJson } from '../../base/text/parse-json.ts';
import { compareText } from '../../base/text/texts.ts';
import type { Memory } from '../../base/memory-pool.ts';
import { sortInTurns } from '../../base/turns/sort-in-turns.ts';
import { inTurns, type Pacing } from '../../base/turns/turns.ts';
import { labelsKey, labelValue, textLength } from '../labels.ts';
import type { GroupRow } from '../eval/aggregate/group-rows.ts';
import { sampleBytes, takeMemory, type Budget } from '../eval/budget.ts';
import { ExactSums, type SumState } from '../exact/exact-sums.ts';
import type { Label, Labels } from '../types.ts';

/** The most values on the axis of a row. An axis lists values of one label; a column has the steps of each value. */
const longestAxis = 256;
/** The most characters that all values of an axis have together; a single value may be longer. */
const widestAxis = 65_536;
/** Longest axis text that is parsed, in characters: parsing JSON cannot yield to other work. */
const longestText = 8 * 1024 * 1024;
/** Building and looking up the key of a row's labels costs as much as 100 samples, and one for each character. */
const labelsWork = 100;
/** One value of an axis (a lookup in a map) costs as much as 10 samples. */
const valueWork = 10;
/** Sizes in bytes: of a row without its numbers, and of one value on an axis that several rows share. */
const rowBytes = 384;
const placeBytes = 96;
/** Memory of a row without its numbers. Units: samples, as in the budget. */
const rowSamples = rowBytes / sampleBytes;

/** The sums of one set of labels: one for each existing value of the packed label. */
export interface PackedSums {
  /** Without the packed label. */
  readonly labels: Labels;
  /** Values of the packed label; [''] for sums without the label. */
  readonly axis: readonly string[];
  /** One for each value of the axis. */
  readonly values: Float64Array;
}

/**
 * Combines rows of a sum that differ only in one label into one row: the label's values become its axis, and the
 * columns hold the steps of the first value, then those of the second, and so on. A histogram is then one row instead
 * of one for each bound: labels are most of the cost of sending a row.
 * Guarantees: nothing is rounded or added, so packed rows merge as exactly as plain ones. A row with native histograms
 * is not combined: its axis has one value. The memory of a row is charged to `budget` before the row is made.
 */
export async function packRows(
  budget: Pick<Budget, 'hold' | keyof Pacing>,
  rows: readonly GroupRow[],
  label: string,
  steps: number,
): Promise<GroupRow[]> {
  const packed: GroupRow[] = [];
  const families = new Map<
    string,
    { readonly rest: Labels; readonly dropName: boolean; readonly members: Map<string, GroupRow> }
  >();
  for (const row of rows) {
    if (budget.spend(labelsWork + textLength(row.labels))) await budget.turn();
    const value = labelValue(row.labels, label);
    if (value === '') {
      packed.push(row);
      continue;
    }
    const rest = row.labels.filter(([name]) => name !== label);
    if (row.holders.length > 0 || row.ignored || row.sums === null) {
      packed.push({ ...row, labels: withAxis(rest, label, [value]) });
      continue;
    }
    const { dropName } = row;
    const key = `${dropName} ${labelsKey(rest)}`;
    let family = families.get(key);
    if (family === undefined) families.set(key, (family = { rest, dropName, members: new Map() }));
    family.members.set(value, row);
  }
  for (const { rest, dropName, members } of families.values()) {
    // Sorted, so that agents with the same bounds send them in the same order.
    const values = await sortInTurns(budget, [...members.keys()], compareText, 1);
    for (const axis of axesOf(values)) {
      const own = axis.map((value) => members.get(value)!);
      const columns = own.some(({ sums }) => sums!.special !== null) ? 6 : 3;
      budget.hold(rowSamples + Math.ceil((own.length * steps * columns * 8) / sampleBytes));
      packed.push({ ...joined(withAxis(rest, label, axis), own, steps), dropName });
      if (budget.spend(own.length * (valueWork + columns * steps))) await budget.turn();
    }
  }
  return packed;
}

/** Splits the values into runs that each fit into one row. */
function* axesOf(values: readonly string[]): Generator<readonly string[]> {
  for (let from = 0, to = 0; from < values.length; from = to) {
    let width = 0;
    do width += values[to++]!.length;
    while (to < values.length && to - from < longestAxis && width + values[to]!.length <= widestAxis);
    yield values.slice(from, to);
  }
}

function joined(labels: Labels, rows: readonly GroupRow[], steps: number): GroupRow {
  const column = (of: (row: GroupRow) => Float64Array | undefined): Float64Array => {
    const all = new Float64Array(rows.length * steps);
    rows.forEach((row, i) => all.set(of(row) ?? [], i * steps));
    return all;
  };
  const present = column((row) => row.present);
  const sums: SumState = {
    count: present,
    high: column(({ sums: own }) => own!.high),
    low: column(({ sums: own }) => own!.low),
    rest: rows.flatMap(({ sums: own }, i) => own!.rest.map(({ step, values }) => ({ step: i * steps + step, values }))),
    special: rows.some(({ sums: own }) => own!.special !== null)
      ? {
          nan: column(({ sums: own }) => own!.special?.nan),
          plus: column(({ sums: own }) => own!.special?.plus),
          minus: column(({ sums: own }) => own!.special?.minus),
        }
      : null,
  };
  return { labels, dropName: false, present, best: null, sums, holders: [], ignored: false };
}

function withAxis(rest: Labels, label: string, axis: readonly string[]): Labels {
  const at = rest.findIndex(([name]) => name > label);
  return rest.toSpliced(at < 0 ? rest.length : at, 0, [label, JSON.stringify(axis)]);
}

const noAxis: readonly string[] = [''];
/** The parsed axis of each label object: the rows of an answer share these objects. */
const axes = new WeakMap<Label, readonly string[] | null>();

/** The axis of a packed row; null for an invalid text. */
export function axisOf(labels: Labels, label: string): readonly string[] | null {
  for (const one of labels) {
    if (one[0] !== label) continue;
    let axis = axes.get(one);
    if (axis === undefined) axes.set(one, (axis = readAxis(one[1])));
    return axis;
  }
  return noAxis;
}

function readAxis(text: string): readonly string[] | null {
  if (text.length > longestText) return null;
  try {
    const values = parseJson(text, 'the axis');
    if (!Array.isArray(values) || values.length === 0 || values.length > longestAxis) return null;
    const isAxis = values.every((value, i) => typeof value === 'string' && value !== '' && !(value <= values[i - 1]));
    return isAxis ? (values as string[]) : null;
  } catch {
    return null;
  }
}

/**
 * The sums of merged rows at one step. When agents have different axes for the same labels, the sums of a
 * label value that several axes have are added up before they are rounded.
 * Guarantees: time and memory grow with the values of the rows, however their axes differ; the memory is charged before
 * it is used.
 * Returns null for rows that cannot be represented: those with native histograms, or with an invalid axis.
 */
export async function sumsOfPacked(
  pacing: Pacing,
  memory: Memory | undefined,
  rows: readonly GroupRow[],
  label: string,
): Promise<PackedSums[] | null> {
  const families = new Map<string, Family>();
  for (const row of rows) {
    if (pacing.spend(labelsWork + textLength(row.labels))) await pacing.turn();
    const axis = axisOf(row.labels, label);
    if (axis === null || row.holders.length > 0 || row.sums === null) return null;
    const rest = row.labels.filter(([name]) => name !== label);
    // Sums without the label are not added to those with it.
    const key = `${axis === noAxis} ${labelsKey(rest)}`;
    const member = { axis, sums: row.sums };
    const family = families.get(key);
    if (family) family.members.push(member);
    else families.set(key, { rest, members: [member] });
  }
  const all: PackedSums[] = [];
  for (const { rest, members } of families.values()) {
    if (pacing.spend(labelsWork)) await pacing.turn();
    all.push(await sumsOf(pacing, memory, rest, members));
  }
  return all;
}

interface Member {
  readonly axis: readonly string[];
  readonly sums: SumState;
}

/** Rows whose labels differ only in their axes. */
interface Family {
  readonly rest: Labels;
  readonly members: Member[];
}

async function sumsOf(
  pacing: Pacing,
  memory: Memory | undefined,
  labels: Labels,
  members: readonly Member[],
): Promise<PackedSums> {
  const first = members[0]!;
  const isOne = members.length === 1;
  const axis = isOne ? first.axis : await unionOf(pacing, memory, members);
  takeMemory(memory, rowBytes + 8 * axis.length * (isOne ? 1 : 4));
  const all = isOne ? await inTurns(pacing, ExactSums.from(first.sums)) : await added(pacing, members, axis);
  const { count } = all;
  const values = new Float64Array(axis.length);
  let filled = 0;
  for (let i = 0; i < axis.length; i++) {
    if (pacing.spend(1 + all.takeWork())) await pacing.turn();
    if (count[i] === 0) continue;
    values[i] = all.sum(i);
    filled++;
  }
  if (filled === axis.length) return { labels, axis, values };
  const has = (_: unknown, i: number): boolean => count[i]! > 0;
  return { labels, axis: axis.filter(has), values: values.filter(has) };
}

/** The values of all axes, each once, in order. */
async function unionOf(pacing: Pacing, memory: Memory | undefined, members: readonly Member[]): Promise<string[]> {
  const union = new Set<string>();
  for (const { axis } of members) {
    takeMemory(memory, placeBytes * axis.filter((value) => !union.has(value)).length);
    for (const value of axis) union.add(value);
    if (pacing.spend(valueWork * axis.length)) await pacing.turn();
  }
  return sortInTurns(pacing, [...union], compareText, 1);
}

/** The sums of all rows on `axis`, which has the values of all their axes. */
async function added(pacing: Pacing, members: readonly Member[], axis: readonly string[]): Promise<ExactSums> {
  const places = new Map<string, number>();
  for (const value of axis) {
    places.set(value, places.size);
    if (pacing.spend(valueWork)) await pacing.turn();
  }
  const all = new ExactSums(axis.length);
  for (const { axis: own, sums } of members) {
    const at = own.map((value) => places.get(value)!);
    if (pacing.spend(valueWork * own.length)) await pacing.turn();
    await inTurns(pacing, all.merge(sums, at));
  }
  return all;
}

/** Splits the labels of an element that is not packed into the other labels and an axis of one value. */
export function unpackedLabels(labels: Labels, label: string): Pick<PackedSums, 'labels' | 'axis'> {
  const value = labelValue(labels, label);
  if (value === '') return { labels, axis: noAxis };
  return { labels: labels.filter(([name]) => name !== label), axis: [value] };
}

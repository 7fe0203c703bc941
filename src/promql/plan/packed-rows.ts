import { labelsKey, labelValue } from '../labels.ts';
import { GroupFold, type GroupRow } from '../eval/aggregate/group-rows.ts';
import type { SumState } from '../exact/exact-sums.ts';
import type { Label, Labels } from '../types.ts';

/** Most values of the packed label in one row: a row's columns have this many times the steps. */
const longestAxis = 256;

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
 * Combines rows of a sum that differ in one label only into one row: the label's values become its axis, and the
 * columns hold the steps of the first value, then those of the second, and so on. A histogram is then one row instead
 * of one for each bound: labels are most of the cost of sending a row.
 * Guarantees: nothing is rounded or added, so packed rows merge as exactly as plain ones. Rows with native histograms
 * stay alone, on an axis of one.
 */
export function packRows(rows: readonly GroupRow[], label: string, steps: number): GroupRow[] {
  const packed: GroupRow[] = [];
  const families = new Map<
    string,
    { readonly rest: Labels; readonly dropName: boolean; readonly members: Map<string, GroupRow> }
  >();
  for (const row of rows) {
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
    const values = [...members.keys()].sort();
    for (let from = 0; from < values.length; from += longestAxis) {
      const axis = values.slice(from, from + longestAxis);
      const own = axis.map((value) => members.get(value)!);
      packed.push({ ...joined(withAxis(rest, label, axis), own, steps), dropName });
    }
  }
  return packed;
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
/** Parsed once for each label object: the rows of an answer share them. */
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
  try {
    const values: unknown = JSON.parse(text);
    if (!Array.isArray(values) || values.length === 0 || values.length > longestAxis) return null;
    const isAxis = values.every((value, i) => typeof value === 'string' && value !== '' && !(value <= values[i - 1]));
    return isAxis ? (values as string[]) : null;
  } catch {
    return null;
  }
}

/**
 * The sums of merged rows of one step. When agents have different axes for the same labels, the values of common bounds
 * are added up before they are rounded.
 * Returns null when a row has native histograms, which cannot be represented.
 */
export function sumsOfPacked(rows: readonly GroupRow[], label: string): PackedSums[] | null {
  const families = new Map<string, { readonly rest: Labels; readonly rows: GroupRow[] }>();
  for (const row of rows) {
    if (row.holders.length > 0 || row.sums === null) return null;
    const rest = row.labels.filter(([name]) => name !== label);
    const key = labelsKey(rest);
    const family = families.get(key);
    if (family) family.rows.push(row);
    else families.set(key, { rest, rows: [row] });
  }
  return [...families.values()].flatMap((family) => {
    const [plain, marked] = [[] as GroupRow[], [] as GroupRow[]];
    for (const row of family.rows) (axisOf(row.labels, label) === noAxis ? plain : marked).push(row);
    return [plain, marked].flatMap((some) => (some.length === 0 ? [] : sumsOf(family.rest, some, label)));
  });
}

function sumsOf(labels: Labels, rows: readonly GroupRow[], label: string): PackedSums {
  const axisOfRow = (row: GroupRow): readonly string[] => axisOf(row.labels, label) ?? [];
  const isOne = rows.length === 1;
  const axis = isOne ? axisOfRow(rows[0]!) : [...new Set(rows.flatMap(axisOfRow))].sort();
  const fold = new GroupFold('sum', labels, isOne ? rows[0]! : axis.length);
  if (!isOne) for (const row of rows) fold.merge(spread(row, axisOfRow(row), axis));
  const { present } = fold;
  const values = new Float64Array(axis.length);
  for (let i = 0; i < axis.length; i++) if (present[i]! > 0) values[i] = fold.sums!.sum(i);
  if (present.every((count) => count > 0)) return { labels, axis, values };
  const has = (_: unknown, i: number): boolean => present[i]! > 0;
  return { labels, axis: axis.filter(has), values: values.filter(has) };
}

/** Labels of a single element as those of a sum. */
export function unpackedLabels(labels: Labels, label: string): Pick<PackedSums, 'labels' | 'axis'> {
  const value = labelValue(labels, label);
  if (value === '') return { labels, axis: noAxis };
  return { labels: labels.filter(([name]) => name !== label), axis: [value] };
}

/** Expands a row to an axis that contains all of its values. */
function spread(row: GroupRow, from: readonly string[], to: readonly string[]): GroupRow {
  const places = from.map((value) => to.indexOf(value));
  const moved = (column: Float64Array): Float64Array => {
    const all = new Float64Array(to.length);
    places.forEach((place, i) => (all[place] = column[i]!));
    return all;
  };
  const { high, low, rest, special } = row.sums!;
  const present = moved(row.present);
  return {
    ...row,
    present,
    sums: {
      ...{ count: present, high: moved(high), low: moved(low) },
      rest: rest.map(({ step, values }) => ({ step: places[step]!, values })),
      special: special && { nan: moved(special.nan), plus: moved(special.plus), minus: moved(special.minus) },
    },
  };
}

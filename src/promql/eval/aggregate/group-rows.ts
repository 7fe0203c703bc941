import { ExactSums, type SumState } from '../../exact/exact-sums.ts';
import { labelsKey } from '../../labels.ts';
import type { Aggregator } from '../../parser/ast.ts';
import type { Labels } from '../../types.ts';
import { sampleBytes, type Budget } from '../budget.ts';
import { isFloat, isHistogram, weightOf, type Column } from '../columns.ts';
import type { EvalContext } from '../context.ts';
import type { Frame } from '../frame.ts';
import { groupColumns } from './grouping.ts';

/**
 * The partial state of one group of an aggregation, from one node or from all: plain data that is merged without loss.
 * Shape: arrays have one entry for each step. `present[i]` counts the elements added at step i (0: none); `best` is for
 * min and max, `sums` for sum and avg. `holders` are the native histograms of the members of sum and avg, without the
 * floats. They are combined in label order at the end, because their sums are not exact.
 */
export interface GroupRow {
  readonly labels: Labels;
  readonly dropName: boolean;
  readonly present: Float64Array;
  readonly best: Float64Array | null;
  readonly sums: SumState | null;
  readonly holders: readonly Column[];
  /** min and max: a native histogram was ignored. */
  readonly ignored: boolean;
}

/** Aggregations whose partial states can be merged exactly, group by group. */
export type FoldOperator = 'sum' | 'avg' | 'count' | 'group' | 'min' | 'max';

const foldOperators: ReadonlySet<string> = new Set(['sum', 'avg', 'count', 'group', 'min', 'max']);

export function isFoldOperator(op: Aggregator): op is FoldOperator {
  return foldOperators.has(op);
}

/** Memory of a group without its buffers, as the budget counts it: in samples of 16 bytes. */
const bareGroup = 32;

/** Finding the group of a row costs as much as this many samples. */
const rowWork = 100;
/** So many short rows are added as one piece of work. */
const rowsAtOnce = 50;

/** A group to which columns, or rows of other nodes, are being added. */
export class GroupFold {
  readonly labels: Labels;
  readonly #op: FoldOperator;
  readonly #present: Float64Array;
  readonly #best: Float64Array | null;
  readonly sums: ExactSums | null;
  readonly holders: Column[] = [];
  dropName = false;
  ignored = false;
  /** The memory of `holders` that `keep` has counted. */
  #kept = 0;

  /** An empty group with the given number of steps; or one with the state of a row, as `from` makes it. */
  constructor(
    op: FoldOperator,
    labels: Labels,
    from: number | (Omit<GroupRow, 'sums'> & { readonly sums: ExactSums | null }),
  ) {
    this.labels = labels;
    this.#op = op;
    const row = typeof from === 'number' ? null : from;
    const steps = typeof from === 'number' ? from : from.present.length;
    this.sums = op === 'sum' || op === 'avg' ? (row?.sums ?? new ExactSums(steps)) : null;
    this.#present = this.sums?.count ?? row?.present ?? new Float64Array(steps);
    this.#best = op === 'min' || op === 'max' ? (row?.best ?? new Float64Array(steps)) : null;
    if (row === null) return;
    this.dropName = row.dropName;
    this.ignored = row.ignored;
  }

  /** A group with the state of a row, whose arrays then belong to the group. Yields the work of each piece. */
  static *from(op: FoldOperator, row: GroupRow): Generator<number, GroupFold> {
    const steps = row.present.length;
    const sums = row.sums && (yield* ExactSums.from(row.sums));
    const group = new GroupFold(op, row.labels, { ...row, sums });
    for (const holder of row.holders) {
      group.keep(holder);
      yield steps;
    }
    yield steps;
    return group;
  }

  /** Memory of the group with its buffers and what it keeps of columns, as the budget counts it: in samples. */
  get weight(): number {
    const doubles = this.sums !== null ? 3 : this.#best !== null ? 2 : 1;
    return (
      bareGroup + Math.ceil((this.#present.length * doubles * 8) / sampleBytes) + this.#kept + (this.sums?.extra ?? 0)
    );
  }

  get present(): Float64Array {
    return this.#present;
  }

  get best(): Float64Array | null {
    return this.#best;
  }

  /**
   * Adds a column, and returns the memory that the group keeps of it, by which its weight has grown. If the sums need
   * big integers, it returns a promise; the group's weight grows by these, too, which `budget` is charged for.
   */
  add(budget: Budget, column: Column): number | Promise<number> {
    this.dropName ||= column.dropName;
    let kept = 0;
    if (column.histograms !== null) {
      if (this.sums !== null) kept = this.keep(histogramsOf(column));
      this.ignored = true;
    }
    if (this.sums !== null) {
      const next = this.sums.addAll(column.values, column.kinds, isFloat);
      const work = this.sums.takeWork();
      if (work > 0) return this.#addSlowly(budget, this.sums, column, next, work, kept);
    } else if (this.#best === null) countKinds(this.#present, column.kinds);
    else this.#takeBest(column.values, column.kinds, null);
    return kept;
  }

  /** Adds the floats of a column from step `from` on, after `done` work before it. Returns `kept`. */
  async #addSlowly(
    budget: Budget,
    sums: ExactSums,
    { values, kinds }: Column,
    from: number,
    done: number,
    kept: number,
  ): Promise<number> {
    let [next, work] = [from, done];
    for (;;) {
      budget.hold(sums.takeGrowth());
      if (budget.spend(work)) await budget.turn();
      if (next === values.length) return kept;
      next = sums.addAll(values, kinds, isFloat, next);
      work = sums.takeWork();
    }
  }

  /** Adds the histograms of a column, and returns their memory, by which the group's weight has grown. */
  keep(holder: Column): number {
    const weight = weightOf(holder);
    this.holders.push(holder);
    this.#kept += weight;
    return weight;
  }

  /**
   * Adds a row, whose histograms are kept. Returns the work; for a row that takes long, what adds the rest of it and
   * yields the work of each piece. Other rows may be added in between.
   */
  merge(row: GroupRow): number | Generator<number, void> {
    this.dropName ||= row.dropName;
    this.ignored ||= row.ignored;
    for (const holder of row.holders) this.holders.push(holder);
    if (this.sums !== null) return this.sums.mergeFirst(row.sums!);
    if (this.#best !== null) this.#takeBest(row.best!, null, row.present);
    else for (let i = 0; i < row.present.length; i++) this.#present[i]! += row.present[i]!;
    return row.present.length;
  }

  /** The state of the group, which must not be used afterwards. Yields the work of each piece. */
  *toRow(): Generator<number, GroupRow> {
    const { labels, dropName, holders, ignored } = this;
    const sums = this.sums && (yield* this.sums.toState());
    yield this.#present.length;
    return { labels, dropName, present: this.#present, best: this.#best, sums, holders, ignored };
  }

  /**
   * Any number beats NaN; of the two zeros max takes 0 and min −0, so that the result does not depend on the order of
   * members.
   */
  #takeBest(values: Float64Array, kinds: Uint8Array | null, counts: Float64Array | null): void {
    const best = this.#best!;
    const present = this.#present;
    const isMax = this.#op === 'max';
    for (let i = 0; i < best.length; i++) {
      const count = kinds === null ? counts![i]! : kinds[i] === isFloat ? 1 : 0;
      if (count === 0) continue;
      const value = values[i]!;
      const known = best[i]!;
      if (present[i] === 0 || known !== known || (isMax ? known < value : known > value)) best[i] = value;
      else if (value === 0 && known === 0) best[i] = Object.is(value, isMax ? 0 : -0) ? value : known;
      present[i]! += count;
    }
  }
}

function countKinds(counts: Float64Array, kinds: Uint8Array): void {
  for (let i = 0; i < kinds.length; i++) if (kinds[i] !== 0) counts[i]!++;
}

function histogramsOf(column: Column): Column {
  const kinds = column.kinds.map((kind) => (kind === isHistogram ? isHistogram : 0));
  return { ...column, kinds };
}

/**
 * Folds columns into groups. The memory of the columns, which is charged to the budget, is released but for what the
 * groups keep.
 */
export async function foldColumns(
  context: EvalContext,
  by: { readonly op: FoldOperator; readonly grouping: readonly string[]; readonly without: boolean },
  columns: readonly Column[],
  frame: Frame,
): Promise<GroupFold[]> {
  const { groupOf, labels } = await groupColumns(context.budget, columns, by.grouping, by.without);
  const groups: GroupFold[] = [];
  for (const one of labels) {
    const group = new GroupFold(by.op, one, frame.count);
    context.budget.hold(group.weight);
    groups.push(group);
    if (context.budget.spend(frame.count)) await context.budget.turn();
  }
  let unused = 0;
  for (const [c, column] of columns.entries()) {
    const kept = groups[groupOf[c]!]!.add(context.budget, column);
    unused += weightOf(column) - (typeof kept === 'number' ? kept : await kept);
    if (context.budget.spend(frame.count)) await context.budget.turn();
  }
  context.budget.release(unused);
  return groups;
}

/** Groups with the states of rows, whose arrays then belong to the groups. Yields the work of each piece. */
export function* groupsOf(op: FoldOperator, rows: readonly GroupRow[]): Generator<number, GroupFold[]> {
  const groups: GroupFold[] = [];
  for (const row of rows) groups.push(yield* GroupFold.from(op, row));
  return groups;
}

/** The states of groups, which must not be used afterwards. Yields the work of each piece. */
export function* rowsOf(groups: readonly GroupFold[]): Generator<number, GroupRow[]> {
  const rows: GroupRow[] = [];
  for (const group of groups) rows.push(yield* group.toRow());
  return rows;
}

/** Joins the rows of several nodes, group by group, as they arrive. */
export class RowMerge {
  readonly #op: FoldOperator;
  readonly #groups = new Map<string, GroupFold>();
  // Rows that came over the wire share their label objects. To find a group by object is faster than by string.
  readonly #known = new Map<Labels, GroupFold>();

  constructor(op: FoldOperator) {
    this.#op = op;
  }

  /**
   * Adds rows without keeping their arrays. Returns the indexes of the rows that take no memory any more but for their
   * native histograms, because their groups were there. `hold` is called for the bytes by which groups have grown, also
   * by the row that made one, whose own memory stays held. Yields the work of each piece. Other rows may be added in between.
   */
  *add(rows: readonly GroupRow[], hold: (bytes: number) => void): Generator<number, number[]> {
    const joined: number[] = [];
    let done = 0;
    for (const [i, row] of rows.entries()) {
      const before = this.#groups.size;
      const group = this.#groupOf(row);
      if (this.#groups.size === before) joined.push(i);
      const work = group.merge(row);
      for (const piece of typeof work === 'number' ? [work] : work) {
        const grown = group.sums?.takeGrowth() ?? 0;
        if (grown > 0) hold(grown * sampleBytes);
        done += rowWork + piece;
        if (done < rowsAtOnce * rowWork) continue;
        yield done;
        done = 0;
      }
    }
    if (done > 0) yield done;
    return joined;
  }

  /** The groups, in the order in which they appeared. */
  finish(): GroupFold[] {
    return [...this.#groups.values()];
  }

  #groupOf({ labels, present }: GroupRow): GroupFold {
    let group = this.#known.get(labels);
    if (group !== undefined) return group;
    const key = labelsKey(labels);
    group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, (group = new GroupFold(this.#op, labels, present.length)));
    this.#known.set(labels, group);
    return group;
  }
}

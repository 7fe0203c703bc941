import { OperatorError } from '../base/errors.ts';
import type { Pacing } from '../base/turns/turns.ts';
import { maxTests, type CompiledMatcher } from './matcher.ts';

/** Ascending series numbers. */
export type PostingList = ArrayLike<number>;

/** An inverted index over labels: that of the head lives in maps, that of a block in the block's file. */
export interface PostingsIndex {
  /** How many series there are. */
  readonly size: number;
  all(): PostingList;
  names(): Iterable<string>;
  values(name: string): Iterable<string>;
  postings(name: string, value: string): PostingList | undefined;
  /** The length of the list that `postings` returns. */
  count(name: string, value: string): number;
}

const none: PostingList = [];

/** All matchers on one label: taken together, they read each of the label's lists at most once, however many they are. */
interface Condition {
  readonly name: string;
  /** Whether only series with the label can satisfy the matchers. */
  readonly isRequired: boolean;
  /**
   * The only values that can match (label required), or that can fail to match (not required). Undefined: all values are
   * looked at.
   */
  readonly values: readonly string[] | undefined;
  /** The values that `!=`, and `!~` with alternatives, refuse. */
  readonly refused: ReadonlySet<string>;
  /** The other matchers. */
  readonly tests: readonly CompiledMatcher[];
}

/**
 * The series that satisfy every matcher, ascending. Labels that must be present are intersected first; for each label
 * whose absence satisfies its matchers, the series with a value that does not match are then removed.
 * Caveats: lets no other work run. A caller's matchers pass `rememberMatches` first, which bounds the work.
 */
export function selectPostings(index: PostingsIndex, matchers: readonly CompiledMatcher[]): PostingList {
  const conditions: Condition[] = [];
  for (const condition of conditionsOf(matchers)) {
    const found = countOf(index, condition);
    if (found === 0) return none;
    if (found !== index.size) conditions.push(condition);
  }
  const required: PostingList[] = [];
  const excluded: PostingList[] = [];
  for (const condition of conditions) {
    const { isRequired } = condition;
    const lists = listsOf(index, condition);
    const total = lists.reduce((sum, { length }) => sum + length, 0);
    if (total === (isRequired ? 0 : index.size)) return none;
    if (total === (isRequired ? index.size : 0)) continue;
    (isRequired ? required : excluded).push(union(lists, total));
  }
  required.sort((a, b) => a.length - b.length);
  let result = required[0] ?? index.all();
  for (const list of required.slice(1)) {
    if (result.length === 0) return none;
    result = filtered(result, list, true);
  }
  for (const list of excluded) result = filtered(result, list, false);
  return result;
}

/**
 * Makes matchers cache their answers for the values that a selection in some indexes tests, with turns for other work in
 * between: a regular expression may take long for each value.
 * Errors: ERR_SELECTION_LIMIT for more than a million tests of values in all indexes; those of matchers and pacing.
 */
export async function rememberMatches(
  matchers: readonly CompiledMatcher[],
  indexes: readonly PostingsIndex[],
  pacing: Pacing,
): Promise<void> {
  const conditions = conditionsOf(matchers);
  // A test of each value without the regex engine takes no longer than finding the value.
  const slow = conditions.filter(({ tests }) => tests.length > 1 || (tests[0]?.work ?? 0) > 0);
  if (slow.length === 0) return;
  let times = 0;
  for (const index of indexes) {
    // A selection looks at no value then, either.
    if (conditions.some((condition) => countOf(index, condition) === 0)) continue;
    for (const { name, values, refused, tests } of slow) {
      for (const value of values ?? index.values(name)) {
        if (refused.has(value)) continue;
        for (const { work, matches } of tests) {
          if (++times > maxTests) {
            const reason = `too many tests of label values: more than ${maxTests} (at label ${name})`;
            throw new OperatorError('ERR_SELECTION_LIMIT', `selector: ${reason}`);
          }
          const isMatch = matches(value);
          if (pacing.spend(1 + work * (10 + value.length))) await pacing.turn();
          if (!isMatch) break;
        }
      }
    }
  }
}

function conditionsOf(matchers: readonly CompiledMatcher[]): Condition[] {
  return [...Map.groupBy(matchers, ({ name }) => name)].map(([name, own]) => conditionOf(name, own));
}

function conditionOf(name: string, matchers: readonly CompiledMatcher[]): Condition {
  const isRequired = matchers.some(({ matchesEmpty }) => !matchesEmpty);
  const refused = new Set<string>();
  const tests: CompiledMatcher[] = [];
  let wanted: readonly string[] | undefined;
  for (const matcher of matchers) {
    const { literals, negative } = matcher;
    if (literals && negative) for (const value of literals) refused.add(value);
    else tests.push(matcher);
    if (literals && !negative && (wanted === undefined || literals.length < wanted.length)) wanted = literals;
  }
  const values = isRequired
    ? wanted?.filter((value) => !refused.has(value))
    : tests.length === 0
      ? [...refused]
      : undefined;
  return { name, isRequired, values, refused, tests };
}

/**
 * How many series satisfy a condition, where a few counts tell it without a list. Often all series share one value of a
 * label, such as the node or the cluster.
 */
function countOf(index: PostingsIndex, { name, isRequired, values, tests }: Condition): number | undefined {
  if (values === undefined || (isRequired && (values.length > 1 || tests.length > 1))) return undefined;
  const found = values.reduce((sum, value) => sum + index.count(name, value), 0);
  return isRequired ? found : index.size - found;
}

/** The lists of the values that satisfy a condition on a required label, otherwise of those that do not satisfy it. */
function listsOf(index: PostingsIndex, { name, isRequired, values, refused, tests }: Condition): PostingList[] {
  const isOne = tests.length === 1 && refused.size === 0;
  const isSatisfied = isOne
    ? tests[0]!.matches
    : (value: string): boolean => !refused.has(value) && tests.every(({ matches }) => matches(value));
  const lists: PostingList[] = [];
  for (const value of values ?? index.values(name)) {
    const list = isSatisfied(value) === isRequired ? index.postings(name, value) : undefined;
    if (list && list.length > 0) lists.push(list);
  }
  return lists;
}

/** The union of the lists of different values of one name. They are disjoint: a series has one value for a name. */
function union(lists: readonly PostingList[], total: number): PostingList {
  if (lists.length === 1) return lists[0]!;
  const all = new Float64Array(total);
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  return all.sort();
}

/** The numbers of `a` that are in `b` if `isIn`, otherwise those that are not. Fastest when `a` is shorter than `b`. */
function filtered(a: PostingList, b: PostingList, isIn: boolean): number[] {
  const out: number[] = [];
  let j = 0;
  for (let i = 0; i < a.length && (j < b.length || !isIn); i++) {
    const x = a[i]!;
    j = seek(b, j, x);
    if ((j < b.length && b[j] === x) === isIn) out.push(x);
  }
  return out;
}

/**
 * The first index from `from` on whose number is not below `x`. The stride of the search doubles, so that most numbers
 * of a long list are skipped.
 */
function seek(list: PostingList, from: number, x: number): number {
  let low = from;
  let high = from;
  for (let stride = 1; high < list.length && list[high]! < x; stride *= 2) {
    low = high + 1;
    high += stride;
  }
  if (high > list.length) high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Ascending numbers that grow at the end: four bytes each instead of an array element's eight. */
export class GrowingList {
  #numbers = new Uint32Array(4);
  #length = 0;

  static of(first: number, second: number): GrowingList {
    const list = new GrowingList();
    list.push(first);
    list.push(second);
    return list;
  }

  get length(): number {
    return this.#length;
  }

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const longer = new Uint32Array(this.#length + (this.#length >>> 1) + 4);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers[this.#length++] = number;
  }

  /** The present numbers; later pushes do not change them. */
  view(): Uint32Array {
    return this.#numbers.subarray(0, this.#length);
  }

  /** A new list without some numbers; readers keep the old one. Undefined when nothing is left. */
  without(gone: ReadonlySet<number>): GrowingList | number | undefined {
    const kept = this.view().filter((number) => !gone.has(number));
    if (kept.length === 0) return undefined;
    if (kept.length === 1) return kept[0];
    const list = new GrowingList();
    list.#numbers = kept;
    list.#length = kept.length;
    return list;
  }
}

/**
 * The head's index: series are added in ascending order of their numbers and removed in bulk.
 * Most values of a label that identifies instances have one series: such a value stores the series' number instead of a
 * list.
 */
export class MemoryPostings implements PostingsIndex {
  #all = new GrowingList();
  readonly #names = new Map<string, Map<string, GrowingList | number>>();

  get size(): number {
    return this.#all.length;
  }

  /** Begins a series; its labels follow one by one. */
  begin(ref: number): void {
    this.#all.push(ref);
  }

  /** Returns the label's list if it has two series or more. The caller may push to it until the next `remove`. */
  add(ref: number, name: string, value: string): GrowingList | undefined {
    let values = this.#names.get(name);
    if (!values) this.#names.set(name, (values = new Map()));
    let list = values.get(value);
    if (list === undefined) {
      values.set(value, ref);
      return undefined;
    }
    if (typeof list !== 'number') list.push(ref);
    else values.set(value, (list = GrowingList.of(list, ref)));
    return list;
  }

  /** Makes new lists without the given series; lists that readers hold are left unchanged. */
  remove(gone: ReadonlySet<number>): void {
    const all = this.#all.without(gone);
    this.#all = all instanceof GrowingList ? all : new GrowingList();
    if (typeof all === 'number') this.#all.push(all);
    for (const [name, values] of this.#names) {
      for (const [value, list] of values) {
        const kept = typeof list !== 'number' ? list.without(gone) : gone.has(list) ? undefined : list;
        if (kept === undefined) values.delete(value);
        else if (kept !== list) values.set(value, kept);
      }
      if (values.size === 0) this.#names.delete(name);
    }
  }

  all(): PostingList {
    return this.#all.view();
  }

  names(): Iterable<string> {
    return this.#names.keys();
  }

  values(name: string): Iterable<string> {
    return this.#names.get(name)?.keys() ?? [];
  }

  postings(name: string, value: string): PostingList | undefined {
    const list = this.#names.get(name)?.get(value);
    return typeof list === 'number' ? [list] : list?.view();
  }

  count(name: string, value: string): number {
    const list = this.#names.get(name)?.get(value);
    return typeof list === 'number' ? 1 : (list?.length ?? 0);
  }
}

import type { CompiledMatcher } from './matcher.ts';

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

/**
 * The series that satisfy every matcher, ascending. Matchers that need the label present are intersected first;
 * for each matcher that an absent label satisfies, the series with a value that does not match are then removed.
 */
export function selectPostings(index: PostingsIndex, matchers: readonly CompiledMatcher[]): PostingList {
  if (matchers.some((matcher) => isRefusedByAll(index, matcher))) return none;
  const required: PostingList[] = [];
  const excluded: PostingList[] = [];
  for (const matcher of matchers) {
    if (!matcher.matchesEmpty) required.push(withValues(index, matcher, true));
    else excluded.push(withValues(index, matcher, false));
  }
  required.sort((a, b) => a.length - b.length);
  let result = required[0] ?? index.all();
  for (const list of required.slice(1)) {
    if (result.length === 0) return none;
    result = filtered(result, list, true);
  }
  for (const list of excluded) if (list.length > 0) result = filtered(result, list, false);
  return result;
}

/** Whether all series share one value that does not match: common for a label such as the node or the cluster. */
function isRefusedByAll(index: PostingsIndex, { name, literals, negative }: CompiledMatcher): boolean {
  return negative && literals?.some((value) => index.count(name, value) === index.size) === true;
}

/** The series with a value that matches if `wanted`, otherwise the series with a value that does not match. */
function withValues(
  index: PostingsIndex,
  { name, literals, negative, matches }: CompiledMatcher,
  wanted: boolean,
): PostingList {
  const lists: PostingList[] = [];
  for (const value of literals && negative !== wanted ? literals : index.values(name)) {
    const list = matches(value) === wanted ? index.postings(name, value) : undefined;
    if (list && list.length > 0) lists.push(list);
  }
  return union(lists);
}

/** The union of the lists of different values of one name. They are disjoint: a series has one value for a name. */
function union(lists: readonly PostingList[]): PostingList {
  if (lists.length <= 1) return lists[0] ?? none;
  let total = 0;
  for (const list of lists) total += list.length;
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

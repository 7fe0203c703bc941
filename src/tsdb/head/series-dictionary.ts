import { compareUtf8, type Labels } from '../labels.ts';
import { type GrowingList, MemoryPostings } from '../postings.ts';
import { grown } from './grown.ts';
import { SymbolTable } from './symbol-table.ts';

/**
 * The symbol numbers of the series that was added last, and the postings lists of its labels. New series come in groups
 * (the buckets of a histogram) that share all but one or two of their label pair objects: a shared pair need not be
 * looked up again.
 */
class LastSeries {
  #labels: Labels = [];
  /** The symbols of each label's name and value; entries after those of the last label mean nothing. */
  symbols = new Uint32Array(64);
  /** For each label the list of the series that have it, if there are several. */
  lists: (GrowingList | undefined)[] = [];

  /** The index of the pair: `from` or the one after it; −1 for neither. */
  at(from: number, pair: Labels[number]): number {
    if (this.#labels[from] === pair) return from;
    return this.#labels[from + 1] === pair ? from + 1 : -1;
  }

  /** Sets the series and takes `symbols` and `lists`, which are in the order of its labels, as its own. */
  set(labels: Labels, symbols: Uint32Array<ArrayBuffer>, lists: (GrowingList | undefined)[]): void {
    this.#labels = labels;
    this.symbols = symbols;
    this.lists = lists;
  }

  /** Forgets the series: its symbols or lists may no longer be in use. */
  forget(): void {
    this.#labels = [];
    this.lists = [];
  }
}

/** The smallest size of a hash table. */
const leastTable = 4096;

/**
 * The series of the head: each has a slot (a small number, reused), a ref (never reused; its name in the log) and
 * labels as symbol numbers. Series are found by their labels through a hash table of slots.
 */
export class SeriesDictionary {
  readonly #symbols = new SymbolTable();
  readonly postings = new MemoryPostings();
  readonly #freeSlots: number[] = [];
  /** The number of slots ever used; a free slot has ref 0. */
  slots = 0;
  refs = new Float64Array(1024);
  /** The offset of a slot's labels in `#labels`, and their number. */
  #labelsAt = new Uint32Array(1024);
  #labelCount = new Uint16Array(1024);
  #labels = new Uint32Array(16_384);
  #labelsUsed = 0;
  readonly #freeLabels: number[][] = [];
  /** Hash tables by labels and by ref, with open addressing: slot + 1, or 0. A Map of refs takes twice the memory. */
  #table = new Int32Array(leastTable);
  #byRef = new Int32Array(leastTable);
  #order: Uint32Array | undefined;
  /** Symbols and lists of the series being found or added. `add` exchanges them with those of the last series. */
  #ids = new Uint32Array(64);
  #lists: (GrowingList | undefined)[] = [];
  readonly #last = new LastSeries();

  get size(): number {
    return this.postings.size;
  }

  /** All slots in use, in order of their refs. */
  *all(): Generator<number> {
    const refs = this.postings.all();
    for (let i = 0; i < refs.length; i++) yield this.slotOf(refs[i]!)!;
  }

  slotOf(ref: number): number | undefined {
    const entry = this.#byRef[this.#refPlace(ref)]!;
    return entry === 0 ? undefined : entry - 1;
  }

  /** The slot of the series with exactly these labels. */
  find(labels: Labels): number | undefined {
    const ids = this.#idsFor(labels);
    const last = this.#last;
    let next = 0;
    let at = 0;
    for (const pair of labels) {
      const known = last.at(next, pair);
      if (known >= 0) {
        ids[at++] = last.symbols[2 * known]!;
        ids[at++] = last.symbols[2 * known + 1]!;
        next = known + 1;
        continue;
      }
      const n = this.#symbols.find(pair[0]);
      const v = n === undefined ? undefined : this.#symbols.find(pair[1]);
      if (n === undefined || v === undefined) return undefined;
      ids[at++] = n;
      ids[at++] = v;
    }
    const mask = this.#table.length - 1;
    for (let place = hashOf(ids, 0, at) & mask; ; place = (place + 1) & mask) {
      const entry = this.#table[place]!;
      if (entry === 0) return undefined;
      if (this.#hasLabels(entry - 1, ids, at)) return entry - 1;
    }
  }

  /** Adds a new series, with a ref above all others. */
  add(ref: number, labels: Labels): number {
    if ((this.size + 1) * 2 > this.#table.length) this.#rehash();
    const slot = this.#freeSlots.pop() ?? this.slots++;
    if (slot >= this.refs.length) this.#grow(this.refs.length * 2);
    const at = this.#freeLabels[labels.length]?.pop() ?? this.#reserveLabels(labels.length);
    this.postings.begin(ref);
    const { postings } = this;
    const symbols = this.#symbols;
    const last = this.#last;
    const lists = this.#lists;
    const ids = this.#idsFor(labels);
    for (let i = 0, next = 0; i < labels.length; i++) {
      const known = last.at(next, labels[i]!);
      let name: number;
      let value: number;
      let list: GrowingList | undefined;
      if (known >= 0) {
        symbols.retain((name = last.symbols[2 * known]!));
        symbols.retain((value = last.symbols[2 * known + 1]!));
        list = last.lists[known];
        next = known + 1;
      } else {
        name = symbols.acquire(labels[i]![0]);
        value = symbols.acquire(labels[i]![1]);
      }
      ids[2 * i] = name;
      ids[2 * i + 1] = value;
      // The postings get the table's own texts, so that each text is kept once.
      if (list) list.push(ref);
      else list = postings.add(ref, symbols.text(name), symbols.text(value));
      lists[i] = list;
    }
    for (let i = 0; i < 2 * labels.length; i++) this.#labels[at + i] = ids[i]!;
    this.#ids = last.symbols;
    this.#lists = last.lists;
    last.set(labels, ids, lists);
    this.refs[slot] = ref;
    this.#labelsAt[slot] = at;
    this.#labelCount[slot] = labels.length;
    this.#enter(slot);
    this.#order = undefined;
    return slot;
  }

  /** Removes series. Their slots are reused only after `whenFree` has called the function that it gets. */
  remove(slots: readonly number[], whenFree: (release: () => void) => void): void {
    if (slots.length === 0) return;
    const gone = new Set<number>();
    for (const slot of slots) gone.add(this.refs[slot]!);
    this.postings.remove(gone);
    this.#last.forget();
    this.#rehash();
    for (const slot of slots) this.refs[slot] = 0;
    this.#order = undefined;
    whenFree(() => {
      for (const slot of slots) {
        const at = this.#labelsAt[slot]!;
        const count = this.#labelCount[slot]!;
        for (let i = 0; i < 2 * count; i++) this.#symbols.release(this.#labels[at + i]!);
        (this.#freeLabels[count] ??= []).push(at);
        this.#freeSlots.push(slot);
      }
    });
  }

  /**
   * The labels of a slot, decoded for the caller. `others` are the labels that were returned for the slot `beside`. A
   * label that equals the one at the same index of `others` is the same object: neighbours in label order differ in a
   * few labels.
   */
  labels(slot: number, beside = -1, others: Labels = []): Labels {
    const at = this.#labelsAt[slot]!;
    const count = this.#labelCount[slot]!;
    const all = this.#labels;
    const shared = beside < 0 ? 0 : Math.min(count, others.length);
    const otherAt = beside < 0 ? 0 : this.#labelsAt[beside]!;
    const labels = new Array<Labels[number]>(count);
    for (let i = 0; i < count; i++) {
      const name = all[at + 2 * i]!;
      const value = all[at + 2 * i + 1]!;
      const isShared = i < shared && all[otherAt + 2 * i] === name && all[otherAt + 2 * i + 1] === value;
      labels[i] = isShared ? others[i]! : [this.#symbols.text(name), this.#symbols.text(value)];
    }
    return labels;
  }

  /** Adds to `texts` the names of the slots' labels, or the values of label `name` when it is given. */
  collect(slots: readonly number[], name: string | undefined, texts: Set<string>): void {
    const wanted = name === undefined ? undefined : this.#symbols.find(name);
    if (name !== undefined && wanted === undefined) return;
    const seen = new Set<number>();
    for (const slot of slots) {
      const at = this.#labelsAt[slot]!;
      const end = at + 2 * this.#labelCount[slot]!;
      for (let i = at; i < end; i += 2) {
        if (wanted === undefined) seen.add(this.#labels[i]!);
        else if (this.#labels[i] === wanted) seen.add(this.#labels[i + 1]!);
      }
    }
    for (const symbol of seen) texts.add(this.#symbols.text(symbol));
  }

  /** Sorts slots by their series' labels, in place. */
  sort(slots: number[]): number[] {
    if (slots.length < 2) return slots;
    if (slots.length * 4 < this.size) return slots.sort((a, b) => this.#compare(a, b));
    // To sort a large part of the series, the rank of every slot is cached until a series is added or removed.
    const rank = (this.#order ??= this.#rankAll());
    return slots.sort((a, b) => rank[a]! - rank[b]!);
  }

  #rankAll(): Uint32Array {
    const rank = new Uint32Array(this.slots);
    [...this.all()]
      .sort((a, b) => this.#compare(a, b))
      .forEach((slot, i) => {
        rank[slot] = i;
      });
    return rank;
  }

  /** Like `compareLabels`; equal symbol numbers mean equal texts. */
  #compare(a: number, b: number): number {
    const countA = this.#labelCount[a]!;
    const countB = this.#labelCount[b]!;
    const atA = this.#labelsAt[a]!;
    const atB = this.#labelsAt[b]!;
    const shared = 2 * Math.min(countA, countB);
    for (let i = 0; i < shared; i++) {
      const x = this.#labels[atA + i]!;
      const y = this.#labels[atB + i]!;
      if (x !== y) return compareUtf8(this.#symbols.text(x), this.#symbols.text(y));
    }
    return countA - countB;
  }

  /** Room for the symbols of labels. */
  #idsFor(labels: Labels): Uint32Array<ArrayBuffer> {
    if (this.#ids.length < 2 * labels.length) this.#ids = new Uint32Array(4 * labels.length);
    return this.#ids;
  }

  #hasLabels(slot: number, ids: Uint32Array, count: number): boolean {
    if (this.#labelCount[slot]! * 2 !== count) return false;
    const at = this.#labelsAt[slot]!;
    for (let i = 0; i < count; i++) if (this.#labels[at + i] !== ids[i]) return false;
    return true;
  }

  #enter(slot: number): void {
    const at = this.#labelsAt[slot]!;
    const mask = this.#table.length - 1;
    let place = hashOf(this.#labels, at, 2 * this.#labelCount[slot]!) & mask;
    while (this.#table[place] !== 0) place = (place + 1) & mask;
    this.#table[place] = slot + 1;
    this.#byRef[this.#refPlace(this.refs[slot]!)] = slot + 1;
  }

  /** The ref's place in its table, or the free place where it belongs. The golden ratio spreads consecutive refs. */
  #refPlace(ref: number): number {
    const table = this.#byRef;
    const mask = table.length - 1;
    let place = (Math.imul(ref, 0x9e3779b1) >>> 8) & mask;
    while (table[place] !== 0 && this.refs[table[place]! - 1] !== ref) place = (place + 1) & mask;
    return place;
  }

  #rehash(): void {
    const slots = [...this.all()];
    let capacity = leastTable;
    while (capacity < slots.length * 3) capacity *= 2;
    this.#table = new Int32Array(capacity);
    this.#byRef = new Int32Array(capacity);
    for (const slot of slots) this.#enter(slot);
  }

  #reserveLabels(count: number): number {
    const at = this.#labelsUsed;
    this.#labelsUsed += 2 * count;
    while (this.#labelsUsed > this.#labels.length) this.#labels = grown(this.#labels, this.#labels.length * 2);
    return at;
  }

  #grow(capacity: number): void {
    this.refs = grown(this.refs, capacity);
    this.#labelsAt = grown(this.#labelsAt, capacity);
    this.#labelCount = grown(this.#labelCount, capacity);
  }
}

function hashOf(ids: Uint32Array, from: number, count: number): number {
  let hash = 0x811c9dc5;
  for (let i = from; i < from + count; i++) hash = Math.imul(hash ^ ids[i]!, 0x01000193) ^ (hash >>> 15);
  return hash >>> 0;
}

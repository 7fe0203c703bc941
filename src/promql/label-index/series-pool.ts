import { compareStrings } from '../labels.ts';
import type { Label, Labels } from '../types.ts';

/** A list of label sets that may be long: each set is created when it is read. */
export interface LabelList extends Iterable<Labels> {
  readonly length: number;
}

/** Length of a chunk of memory, in 32-bit numbers; a longer set gets a chunk of its own. */
const chunkLength = 2 ** 18;

/** Size of a name's table of values, and of a pair, without their characters. Units: bytes. */
const [tableBytes, pairBytes] = [200, 128];
/** Size of a set with its places in lists, and of each of its labels. Units: bytes. */
const [setBytes, labelBytes] = [28, 4];

/**
 * The label sets of all answers to one request. Each pair of name and value is one object, however many series have it,
 * and a set consists of the numbers of its pairs: four bytes a label, where a list of objects takes three times as
 * much.
 */
export class SeriesPool {
  readonly #hold: (bytes: number) => void;
  readonly #numbers = new Map<string, Map<string, number>>();
  readonly #pairs: Label[] = [];
  /** Sets one after the other, each preceded by its length; none crosses the end of a chunk. */
  readonly #chunks: Uint32Array[] = [];
  #used = chunkLength;

  /**
   * `hold` is called before the pool takes memory for a pair or a set, which it keeps; throws to refuse. Default:
   * nothing is counted.
   */
  constructor(hold: (bytes: number) => void = () => {}) {
    this.#hold = hold;
  }

  /** The number of a pair. */
  pair(name: string, value: string): number {
    let values = this.#numbers.get(name);
    if (values === undefined) {
      this.#hold(tableBytes + name.length);
      this.#numbers.set(name, (values = new Map()));
    }
    let number = values.get(value);
    if (number === undefined) {
      this.#hold(pairBytes + value.length);
      number = this.#pairs.push([name, value]) - 1;
      values.set(value, number);
    }
    return number;
  }

  /** The pair with a number. */
  label(pair: number): Label {
    return this.#pairs[pair]!;
  }

  /** Stores a set of pairs, sorted by name, and returns its place. */
  add(pairs: readonly number[]): number {
    this.#hold(setBytes + labelBytes * pairs.length);
    if (this.#used + pairs.length >= chunkLength) {
      this.#chunks.push(new Uint32Array(Math.max(chunkLength, pairs.length + 1)));
      this.#used = 0;
    }
    const place = (this.#chunks.length - 1) * chunkLength + this.#used;
    const chunk = this.#chunks.at(-1)!;
    let at = this.#used;
    chunk[at++] = pairs.length;
    for (const pair of pairs) chunk[at++] = pair;
    this.#used = at;
    return place;
  }

  /** The labels of the set at a place. */
  labels(place: number): Labels {
    const chunk = this.#chunks[Math.floor(place / chunkLength)]!;
    const at = place % chunkLength;
    const end = at + chunk[at]!;
    const labels: Label[] = [];
    for (let i = at + 1; i <= end; i++) labels.push(this.#pairs[chunk[i]!]!);
    return labels;
  }

  /** Compares the sets at two places, as `compareLabels` does. */
  compare(a: number, b: number): number {
    const [one, other] = [this.#chunks[Math.floor(a / chunkLength)]!, this.#chunks[Math.floor(b / chunkLength)]!];
    let [i, j] = [a % chunkLength, b % chunkLength];
    const shorter = one[i]! - other[j]!;
    const end = i + Math.min(one[i]!, other[j]!);
    while (i < end) {
      const [x, y] = [one[++i]!, other[++j]!];
      if (x !== y) return comparePairs(this.#pairs[x]!, this.#pairs[y]!);
    }
    return shorter;
  }
}

function comparePairs(a: Label, b: Label): number {
  return compareStrings(a[0], b[0]) || compareStrings(a[1], b[1]);
}

/** Some of a pool's label sets, in the order of `places`. */
export class PooledSeries implements LabelList {
  readonly pool: SeriesPool;
  readonly places: readonly number[];

  constructor(pool: SeriesPool, places: readonly number[]) {
    this.pool = pool;
    this.places = places;
  }

  /** Adds a list to a pool; a list of that pool is returned unchanged. */
  static of(list: LabelList, pool: SeriesPool): PooledSeries {
    if (list instanceof PooledSeries && list.pool === pool) return list;
    const places: number[] = [];
    for (const labels of list) places.push(pool.add(labels.map(([name, value]) => pool.pair(name, value))));
    return new PooledSeries(pool, places);
  }

  get length(): number {
    return this.places.length;
  }

  *[Symbol.iterator](): Generator<Labels> {
    for (const place of this.places) yield this.pool.labels(place);
  }
}

import type { Labels } from '../labels.ts';
import type { CompiledMatcher } from '../matcher.ts';
import type { SeriesDictionary } from './series-dictionary.ts';

/** Some series of the head, by their slots in the dictionary, and their labels, decoded on demand. */
export class FoundSlots {
  readonly slots: readonly number[];
  readonly #dictionary: SeriesDictionary;
  /** Decoded labels; null when none are kept, because the labels of all series would take megabytes. */
  readonly #kept: (Labels | undefined)[] | null;
  /** The series whose labels were decoded last, and those labels. */
  #lastAt = -1;
  #last: Labels = [];

  constructor(slots: readonly number[], dictionary: SeriesDictionary, keepsLabels: boolean) {
    this.slots = slots;
    this.#dictionary = dictionary;
    this.#kept = keepsLabels ? new Array<undefined>(slots.length) : null;
  }

  /** The labels of the i-th series. Labels equal to those of the series decoded before are the same objects. */
  labels(i: number): Labels {
    const known = i === this.#lastAt ? this.#last : this.#kept?.[i];
    if (known !== undefined) return known;
    const beside = this.#lastAt === -1 ? -1 : this.slots[this.#lastAt]!;
    this.#last = this.#dictionary.labels(this.slots[i]!, beside, this.#last);
    this.#lastAt = i;
    if (this.#kept !== null) this.#kept[i] = this.#last;
    return this.#last;
  }
}

/** Largest number of selections in the cache. */
const maxSelections = 64;
/** Largest number of series of all selections together: some megabytes with their labels. */
export const maxKnownSeries = 10_000;

/**
 * Caches the results of selectors and evicts the least recently used: dashboards and autoscalers repeat the same
 * selectors, and series appear and disappear far less often. When a series does so, the whole cache is dropped.
 */
export class KnownSelections {
  readonly #known = new Map<string, FoundSlots>();
  #series = 0;

  /** The series that match; `find` is called when they are not in the cache. */
  get(matchers: readonly CompiledMatcher[], find: () => FoundSlots): FoundSlots {
    const key = JSON.stringify(matchers.map(({ type, name, value }) => [type, name, value]));
    const found = this.#known.get(key) ?? find();
    const { length } = found.slots;
    if (length > maxKnownSeries) return found;
    if (this.#known.delete(key)) this.#series -= length;
    this.#known.set(key, found);
    this.#series += length;
    for (const [oldest, { slots }] of this.#known) {
      if (this.#series <= maxKnownSeries && this.#known.size <= maxSelections) break;
      this.#known.delete(oldest);
      this.#series -= slots.length;
    }
    return found;
  }

  clear(): void {
    if (this.#known.size === 0) return;
    this.#known.clear();
    this.#series = 0;
  }
}

import type { Labels } from '../labels.ts';
import type { CompiledMatcher } from '../matcher.ts';
import type { SeriesDictionary } from './series-dictionary.ts';

/** Some series of the head by slot, and their labels as they were made when they were asked for first. */
export class FoundSlots {
  readonly slots: readonly number[];
  readonly #dictionary: SeriesDictionary;
  readonly #labels: (Labels | undefined)[];

  constructor(slots: readonly number[], dictionary: SeriesDictionary) {
    this.slots = slots;
    this.#dictionary = dictionary;
    this.#labels = new Array<undefined>(slots.length);
  }

  /** The labels of the i-th series. What they share with those of the one before, if these were made, are the same objects. */
  labels(i: number): Labels {
    const known = this.#labels[i];
    if (known !== undefined) return known;
    const beside = this.#labels[i - 1];
    const labels = this.#dictionary.labels(this.slots[i]!, beside === undefined ? -1 : this.slots[i - 1]!, beside);
    return (this.#labels[i] = labels);
  }
}

/** Selections that are remembered, and how many series all of them may have: some megabytes with their labels. */
const maxSelections = 64;
const maxSeries = 10_000;

/**
 * What selectors found, the latest asked last: dashboards and autoscalers ask the same again and again, and series come
 * and go far less often. All of it is forgotten when one does.
 */
export class KnownSelections {
  readonly #known = new Map<string, FoundSlots>();
  #series = 0;

  /** What the matchers find; `find` is asked where that is not known. */
  get(matchers: readonly CompiledMatcher[], find: () => FoundSlots): FoundSlots {
    const key = JSON.stringify(matchers.map(({ type, name, value }) => [type, name, value]));
    const found = this.#known.get(key) ?? find();
    const { length } = found.slots;
    if (length > maxSeries) return found;
    if (this.#known.delete(key)) this.#series -= length;
    this.#known.set(key, found);
    this.#series += length;
    for (const [oldest, { slots }] of this.#known) {
      if (this.#series <= maxSeries && this.#known.size <= maxSelections) break;
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

import type { Labels } from '../labels.ts';
import type { GrowingList } from '../postings.ts';

/**
 * What is known of the labels of the series that was added last. New series come in groups (the buckets of a histogram)
 * whose labels are the very same pairs but for one or two: those need not be looked up again.
 */
export class LastSeries {
  #labels: Labels = [];
  /** Name and value of each label. */
  readonly symbols: number[] = [];
  /** Where a label's series are listed, if it has several. */
  readonly lists: (GrowingList | undefined)[] = [];

  /** Where the pair stands at or right behind place `from`; −1 for neither. */
  at(from: number, pair: Labels[number]): number {
    if (this.#labels[from] === pair) return from;
    return this.#labels[from + 1] === pair ? from + 1 : -1;
  }

  /** Takes the facts of another series, which are put into `symbols` and `lists` in the order of its labels. */
  set(labels: Labels, symbols: readonly number[], lists: readonly (GrowingList | undefined)[]): void {
    this.#labels = labels;
    this.symbols.length = 0;
    this.lists.length = 0;
    for (const symbol of symbols) this.symbols.push(symbol);
    for (const list of lists) this.lists.push(list);
  }

  /** Forgets the series: its symbols or lists may not be in use any more. */
  forget(): void {
    this.#labels = [];
  }
}

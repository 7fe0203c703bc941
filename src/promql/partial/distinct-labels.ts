import { compareLabels, labelsKey } from '../labels.ts';
import type { Labels } from '../types.ts';

/** Checks that label sets are distinct. While they come in label order, each is compared only with the one before. */
export class DistinctLabels {
  readonly #all: Labels[] = [];
  /** Filled only after a set came out of order. */
  #keys: Set<string> | undefined;

  /** False for a set that was added before. */
  add(labels: Labels): boolean {
    const last = this.#all.at(-1);
    if (this.#keys === undefined && last !== undefined && compareLabels(last, labels) >= 0) {
      this.#keys = new Set(this.#all.map(labelsKey));
    }
    this.#all.push(labels);
    if (this.#keys === undefined) return true;
    const { size } = this.#keys;
    return this.#keys.add(labelsKey(labels)).size > size;
  }
}

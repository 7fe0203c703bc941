import { compareLabels, labelsKey } from '../labels.ts';
import type { Labels } from '../types.ts';

/** Label sets that all differ. As long as they come in label order, as most do, each is compared with the last alone. */
export class DistinctLabels {
  readonly #all: Labels[] = [];
  /** Filled only once a set has come out of order. */
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

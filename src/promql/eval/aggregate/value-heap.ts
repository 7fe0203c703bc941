import type { Pacing } from '../../../base/turns/turns.ts';
import { sortInTurns } from '../../../base/turns/sort-in-turns.ts';

/** A candidate of topk or bottomk. */
export interface HeapItem {
  readonly index: number;
  readonly value: number;
}

/**
 * The k best candidates, worst on top. Equal values are ordered as in Go's container/heap: pushes sift up by `less`, a
 * better candidate replaces the root and sifts down. Which of several equal series remain therefore depends on their
 * order exactly as in Prometheus.
 */
export class ValueHeap {
  readonly items: HeapItem[] = [];
  readonly #less: (a: number, b: number) => boolean;
  readonly #beats: (a: number, b: number) => boolean;

  /** `ascending`: keep the smallest (bottomk) instead of the largest. */
  constructor(ascending: boolean) {
    this.#less = ascending ? (a, b) => Number.isNaN(a) || a > b : (a, b) => Number.isNaN(a) || a < b;
    this.#beats = ascending ? (a, b) => a < b : (a, b) => a > b;
  }

  get size(): number {
    return this.items.length;
  }

  /** Adds a candidate if there are fewer than k, or if it beats the worst one. */
  offer(item: HeapItem, k: number): void {
    if (this.items.length < k) {
      this.items.push(item);
      this.#up(this.items.length - 1);
      return;
    }
    const worst = this.items[0]!.value;
    if (this.#beats(item.value, worst) || (Number.isNaN(worst) && !Number.isNaN(item.value))) {
      this.items[0] = item;
      this.#down(0);
    }
  }

  /** The candidates, the best first and NaN last. */
  sorted(pacing: Pacing): Promise<HeapItem[]> {
    const less = this.#less;
    const compare = (a: HeapItem, b: HeapItem): number => {
      if (Number.isNaN(a.value) && Number.isNaN(b.value)) return 0;
      if (less(b.value, a.value)) return -1;
      return less(a.value, b.value) ? 1 : 0;
    };
    return sortInTurns(pacing, this.items, compare, 5);
  }

  #swap(i: number, j: number): void {
    const item = this.items[i]!;
    this.items[i] = this.items[j]!;
    this.items[j] = item;
  }

  #lessAt(i: number, j: number): boolean {
    return this.#less(this.items[i]!.value, this.items[j]!.value);
  }

  #up(start: number): void {
    let j = start;
    for (;;) {
      const parent = (j - 1) >> 1;
      if (j === 0 || !this.#lessAt(j, parent)) return;
      this.#swap(parent, j);
      j = parent;
    }
  }

  #down(start: number): void {
    let i = start;
    for (;;) {
      const left = 2 * i + 1;
      if (left >= this.items.length) return;
      let child = left;
      if (left + 1 < this.items.length && this.#lessAt(left + 1, left)) child = left + 1;
      if (!this.#lessAt(child, i)) return;
      this.#swap(i, child);
      i = child;
    }
  }
}

import { Heap } from '../../base/collections/heap.ts';

interface Entry<T> {
  readonly time: string;
  readonly seq: number;
  readonly value: T;
}

/** A heap by time: the earliest element is removed first; of equal times, the one that was added first. */
export class TimeHeap<T> {
  readonly #heap = new Heap<Entry<T>>((a, b) => (a.time === b.time ? a.seq < b.seq : a.time < b.time));
  #seq = 0;

  get size(): number {
    return this.#heap.size;
  }

  push(time: string, value: T): void {
    this.#heap.push({ time, seq: this.#seq++, value });
  }

  pop(): T | undefined {
    return this.#heap.pop()?.value;
  }
}

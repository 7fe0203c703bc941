import { timeOf } from '../../stream/index.ts';
import type { Received } from './agent-stream.ts';
import { TimeHeap } from './time-heap.ts';

export interface OrderLimits {
  /** How long an item is held back, so that an earlier item of another node can overtake it. Units: ms. */
  readonly holdMs: number;
  /** The largest number of items, and of bytes, in the buffer: beyond it the earliest item leaves immediately. */
  readonly items: () => number;
  readonly maxBytes: number;
}

/** The arrival of an item, without the item. An arrival stays in the list until its turn, even if its item has left. */
interface Arrival {
  readonly due: number;
  gone: boolean;
}

/**
 * Sorts the live items of many nodes by time. Pure: the caller passes the time.
 * Guarantees: an item leaves at most `holdMs` after its arrival, and never before an earlier item in the buffer; an
 * item that arrives too late for that leaves out of order, because the stream cannot wait for unknown items.
 */
export class OrderBuffer {
  readonly #limits: OrderLimits;
  readonly #heap = new TimeHeap<{ readonly item: Received; readonly arrival: Arrival }>();
  /** In order of arrival, from `#head` on; items that left before their turn are marked. */
  #arrivals: Arrival[] = [];
  #head = 0;
  #bytes = 0;

  constructor(limits: OrderLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** The latest time at which `take` will have an item; undefined while the buffer is empty. Units: ms, monotonic. */
  get due(): number | undefined {
    while (this.#arrivals[this.#head]?.gone) this.#head++;
    if (this.#head > 1_000 && 2 * this.#head > this.#arrivals.length) {
      this.#arrivals = this.#arrivals.slice(this.#head);
      this.#head = 0;
    }
    return this.#arrivals[this.#head]?.due;
  }

  push(item: Received, now: number): void {
    const arrival = { due: now + this.#limits.holdMs, gone: false };
    this.#heap.push(timeOf(item.message), { item, arrival });
    this.#arrivals.push(arrival);
    this.#bytes += item.bytes;
  }

  /** Removes the items that are due, in order. */
  take(now: number): Received[] {
    const out: Received[] = [];
    const { items, maxBytes } = this.#limits;
    const most = items();
    while (this.#heap.size > 0 && (this.#heap.size > most || this.#bytes > maxBytes || this.due! <= now)) {
      const { item, arrival } = this.#heap.pop()!;
      arrival.gone = true;
      this.#bytes -= item.bytes;
      out.push(item);
    }
    return out;
  }
}

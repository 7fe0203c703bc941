import { timeOf } from '../../stream/index.ts';
import type { Received } from './agent-stream.ts';
import { TimeHeap } from './time-heap.ts';

export interface OrderLimits {
  /** How long an item is held back, so that an earlier one of another node can pass it. Units: ms. */
  readonly holdMs: number;
  /** Items and bytes held at most: beyond it the earliest goes on at once. */
  readonly items: () => number;
  readonly maxBytes: number;
}

/** When an item came, without what it holds: it stays in the list of arrivals until its turn. */
interface Arrival {
  readonly due: number;
  gone: boolean;
}

/**
 * Puts the live items of many nodes in order of their time. Pure: the caller says what time it is.
 * Guarantees: an item leaves no later than `holdMs` after it came, and never before an earlier one that was there; what
 * comes later than that goes on out of order, for a stream cannot wait for what nobody knows of.
 */
export class OrderBuffer {
  readonly #limits: OrderLimits;
  readonly #heap = new TimeHeap<{ readonly item: Received; readonly arrival: Arrival }>();
  /** In the order of coming, from `#head` on; those that left before their turn are marked. */
  #arrivals: Arrival[] = [];
  #head = 0;
  #bytes = 0;

  constructor(limits: OrderLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#heap.size;
  }

  /** When `take` has something to give at the latest; undefined while it is empty. Units: ms, monotonic. */
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

  /** What goes on now, in order. */
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

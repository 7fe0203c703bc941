import { randomBytes } from 'node:crypto';
import type { Recorded } from '../../stream/index.ts';
import { FairQueues, type Held } from './fair-queues.ts';

/**
 * One item of the stream, its approximate memory, and the namespace to which this memory is charged (`account`); absent
 * when the namespace is unknown.
 */
export type StreamItem = Recorded & { readonly bytes: number; readonly account?: string };

export interface RingLimits {
  readonly maxBytes: number;
  /** Items older than this are removed. Units: ms. */
  readonly maxAgeMs: number;
}

/** An item and its number. `item` is null after its removal, so that its memory does not wait for the next clean-up. */
interface Numbered {
  readonly seq: number;
  item: StreamItem | null;
}

/**
 * The newest stream items, bounded by bytes and age. When the bytes are used up, the namespace that holds most loses
 * its oldest items, so that a namespace that floods does not evict the items of others. Each item has a sequence
 * number; a reader keeps the number of its next item and derives from it how many items it missed, so writing never
 * waits for reading.
 */
export class StreamRing {
  /** Distinguishes this ring from earlier ones of the same node: each ring begins its sequence numbers anew. */
  readonly id = randomBytes(6).toString('hex');
  #limits: RingLimits;
  readonly #queues = new FairQueues<Numbered>();
  /** Items in order of their sequence numbers, including removed ones in between. */
  #items: Held<Numbered>[] = [];
  /** Index in `#items` of the first entry that may still be held, and the number of entries that are not held. */
  #head = 0;
  #gone = 0;
  #next = 0;
  #lastGoneMs = -Infinity;
  readonly #waiting = new Set<() => void>();

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  /** Sequence number of the oldest item held, or of the next one when none is held. */
  get first(): number {
    return this.#items[this.#head]?.item.seq ?? this.#next;
  }

  /** Sequence number that the next item will get. */
  get next(): number {
    return this.#next;
  }

  get bytes(): number {
    return this.#queues.weight;
  }

  /** How many items were removed, and the latest of their times. Unit of the time: ms. */
  get left(): { readonly count: number; readonly latestMs: number } {
    return { count: this.#next - this.#items.length + this.#gone, latestMs: this.#lastGoneMs };
  }

  setLimits(limits: RingLimits, nowMs: number): void {
    this.#limits = limits;
    this.#evict(nowMs);
  }

  push(item: StreamItem, nowMs: number): void {
    this.#items.push(this.#queues.add(item.account ?? '', { seq: this.#next++, item }, item.bytes));
    this.#evict(nowMs);
    if (this.#waiting.size > 0) {
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const wake of waiting) wake();
    }
  }

  /** The item with that number, or undefined when it was removed or has not arrived yet. */
  at(seq: number): StreamItem | undefined {
    const held = this.#items[this.#indexOf(seq)];
    return (held?.item.seq === seq && held.item.item) || undefined;
  }

  /**
   * The items held with numbers in [from, to), by number; with `backwards` the highest first. Do not push while
   * iterating.
   */
  *held(from: number, to: number, backwards = false): Generator<{ readonly seq: number; readonly item: StreamItem }> {
    const [start, end] = [this.#indexOf(from), this.#indexOf(to)];
    for (let i = backwards ? end - 1 : start; i >= start && i < end; i += backwards ? -1 : 1) {
      const { seq, item } = this.#items[i]!.item;
      if (item) yield { seq, item };
    }
  }

  /** Calls back once at the next push; the returned function cancels that. */
  onPush(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** Index of the first entry with that number or a higher one. */
  #indexOf(seq: number): number {
    let [low, high] = [this.#head, this.#items.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#items[middle]!.item.seq < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #evict(nowMs: number): void {
    const { maxBytes, maxAgeMs } = this.#limits;
    while (this.#queues.weight > maxBytes) this.#letGo(this.#queues.oldestOfHeaviest()!);
    for (; this.#head < this.#items.length; this.#head++) {
      const oldest = this.#items[this.#head]!;
      if (oldest.item.item && oldest.item.item.timeMs >= nowMs - maxAgeMs) break;
      this.#letGo(oldest);
    }
    if (this.#gone > 1_024 && this.#gone * 2 > this.#items.length) {
      this.#items = this.#items.filter(({ isHeld }) => isHeld);
      this.#head = 0;
      this.#gone = 0;
    }
  }

  #letGo(held: Held<Numbered>): void {
    const { item } = held.item;
    if (!item) return;
    this.#queues.remove(held);
    this.#gone++;
    this.#lastGoneMs = Math.max(this.#lastGoneMs, item.timeMs);
    held.item.item = null;
  }
}

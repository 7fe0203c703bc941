import { randomBytes } from 'node:crypto';
import type { Recorded } from '../../stream/index.ts';

/** One thing the stream serves, and about what it holds in memory. */
export type StreamItem = Recorded & { readonly bytes: number };

export interface RingLimits {
  readonly maxBytes: number;
  /** Items older than this are let go. Units: ms. */
  readonly maxAgeMs: number;
}

/**
 * The newest stream items, bounded by bytes and age. Each has a sequence number; a reader keeps the number it wants
 * next and learns from it how many items it missed, so writing never waits for reading.
 */
export class StreamRing {
  /** Tells it from the ring that the same node had before: sequence numbers begin anew with each. */
  readonly id = randomBytes(6).toString('hex');
  #limits: RingLimits;
  #items: (StreamItem | undefined)[] = [];
  /** Index in `#items` of the oldest item, and its sequence number. */
  #head = 0;
  #firstSeq = 0;
  #bytes = 0;
  readonly #waiting = new Set<() => void>();

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  /** Sequence number of the oldest item held. */
  get first(): number {
    return this.#firstSeq;
  }

  /** Sequence number that the next item will get. */
  get next(): number {
    return this.#firstSeq + this.#items.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  setLimits(limits: RingLimits, nowMs: number): void {
    this.#limits = limits;
    this.#evict(nowMs);
  }

  push(item: StreamItem, nowMs: number): void {
    this.#items.push(item);
    this.#bytes += item.bytes;
    this.#evict(nowMs);
    if (this.#waiting.size > 0) {
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const wake of waiting) wake();
    }
  }

  /** The item with that number, or undefined when it is gone or yet to come. */
  at(seq: number): StreamItem | undefined {
    return seq < this.#firstSeq ? undefined : this.#items[this.#head + seq - this.#firstSeq];
  }

  /** Calls back once at the next push; the returned function takes that back. */
  onPush(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  #evict(nowMs: number): void {
    const { maxBytes, maxAgeMs } = this.#limits;
    while (this.#head < this.#items.length) {
      const oldest = this.#items[this.#head]!;
      if (this.#bytes <= maxBytes && oldest.timeMs >= nowMs - maxAgeMs) break;
      this.#bytes -= oldest.bytes;
      this.#items[this.#head++] = undefined;
      this.#firstSeq++;
    }
    if (this.#head > 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
  }
}

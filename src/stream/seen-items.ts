import type { StreamMessage } from './stream-message.ts';

/** How far back a stream that is read on begins: spans come when they end, not in order of their begin. Units: ms. */
const overlapMs = 10_000;
const generation = 10_000;

/**
 * What was shown of a stream, so that one that is read on after it broke shows nothing twice. It remembers the newest
 * 10,000 to 20,000 items by what they are: spans by their ids, flows by all of them.
 */
export class SeenItems {
  /** Whole generations are forgotten: taking the oldest key out of a set walks over the places of those before it. */
  #keys = new Set<string>();
  #older = new Set<string>();
  #newestMs: number;

  /** What is earlier than `startMs` was not asked for. */
  constructor(startMs: number) {
    this.#newestMs = startMs;
  }

  /** Notes an item; false when it was noted before. */
  add({ node, time, span, flow }: StreamMessage): boolean {
    const key = `${node} ${time} ${span ? `${span.traceId} ${span.spanId} ${span.kind}` : JSON.stringify(flow)}`;
    if (this.#keys.has(key) || this.#older.has(key)) return false;
    this.#keys.add(key);
    if (this.#keys.size >= generation) {
      this.#older = this.#keys;
      this.#keys = new Set();
    }
    this.#newestMs = Math.max(this.#newestMs, Date.parse(time));
    return true;
  }

  /** Where to read on from, RFC 3339; not later than now, whatever times items claim. */
  since(nowMs: number): string {
    return new Date(Math.min(this.#newestMs, nowMs) - overlapMs).toISOString();
  }
}

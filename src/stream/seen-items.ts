import type { StreamMessage } from './stream-message.ts';

/**
 * A resumed stream begins this long before the newest item, because spans arrive when they end, not in the order of
 * their start. Units: ms.
 */
export const resumeOverlapMs = 10_000;
const generation = 10_000;

/**
 * Remembers which items of a stream were shown, so that a stream resumed after a break shows no item twice. It keeps
 * the newest 10,000 to 20,000 items by identity: spans by their ids, flows by all of their members.
 */
export class SeenItems {
  /** Keys are forgotten by whole generations: deleting the oldest key of a large set gets slower with each deletion. */
  #keys = new Set<string>();
  #older = new Set<string>();
  #newestMs = -Infinity;

  /** Records an item; false when it was already recorded. */
  add({ node, time, span, flow }: StreamMessage): boolean {
    const key = `${node} ${time} ${span ? `${span.traceId} ${span.spanId} ${span.kind}` : JSON.stringify(flow)}`;
    if (this.#keys.has(key) || this.#older.has(key)) return false;
    this.#keys.add(key);
    if (this.#keys.size >= generation) {
      this.#older = this.#keys;
      this.#keys = new Set();
    }
    const ms = Date.parse(time);
    // A time that does not exist is NaN, and no comparison with NaN is true.
    if (ms > this.#newestMs) this.#newestMs = ms;
    return true;
  }

  /**
   * The time from which to resume, RFC 3339; undefined before the first item. Items may have false times, so it is never
   * before 1970 nor after now by the cluster's clock.
   */
  since(nowMs: number): string | undefined {
    if (this.#newestMs === -Infinity) return undefined;
    return new Date(Math.max(0, Math.min(this.#newestMs, nowMs) - resumeOverlapMs)).toISOString();
  }
}

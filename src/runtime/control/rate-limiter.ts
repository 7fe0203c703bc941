import { itemBackoff, longestBackoffMs } from '../backoff.ts';

/** A key that failed. Times are monotonic ms. */
interface Failed {
  failures: number;
  /** When the token bucket allows its retry. */
  allowedAt: number;
  /** When its retry is due. */
  dueAt: number;
  /** Whether it took a token for that retry. Until the retry is due, the token is unused. */
  hasToken: boolean;
}

/**
 * When a failed key may run again: after its own back-off, and when a token bucket that all keys of a controller share
 * allows it, so that a thousand keys that fail together are not retried together.
 * Guarantees: no delay is longer than five minutes; a key takes one token for each retry, however often events run it
 * before the retry is due. Keys for which the bucket has no token within five minutes take none: their retries are
 * spread over the second half of that time.
 */
export class RetryLimiter {
  readonly #now: () => number;
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #random: () => number;
  readonly #failed = new Map<string, Failed>();
  #tokens: number;
  #filledAt: number;

  /** `now`: monotonic ms. `random`: in [0, 1). Defaults: 10 a second, burst 100, Math.random. */
  constructor(now: () => number, options: { perSecond?: number; burst?: number; random?: () => number } = {}) {
    this.#now = now;
    this.#perSecond = options.perSecond ?? 10;
    this.#burst = options.burst ?? 100;
    this.#random = options.random ?? Math.random;
    this.#tokens = this.#burst;
    this.#filledAt = now();
  }

  /** Counts one more failure of `key` and returns its delay. Units: ms. */
  next(key: string): number {
    const now = this.#now();
    let failed = this.#failed.get(key);
    if (!failed) this.#failed.set(key, (failed = { failures: 0, allowedAt: 0, dueAt: now, hasToken: false }));
    failed.failures++;
    if (failed.dueAt <= now) {
      const waitMs = this.#reserve(now);
      failed.hasToken = waitMs !== undefined;
      failed.allowedAt = now + (waitMs ?? longestBackoffMs * (0.5 + this.#random() / 2));
    }
    failed.dueAt = Math.max(now + itemBackoff(failed.failures), failed.allowedAt);
    return failed.dueAt - now;
  }

  /** Number of failures of `key` in a row. */
  failures(key: string): number {
    return this.#failed.get(key)?.failures ?? 0;
  }

  /** The key succeeded: its failures are reset. */
  forget(key: string): void {
    const failed = this.#failed.get(key);
    if (!failed) return;
    this.#failed.delete(key);
    if (failed.hasToken && failed.dueAt > this.#now()) this.#tokens++;
  }

  /**
   * Takes a token. Returns how long the bucket must fill for it, in ms; undefined, and takes none, if that is longer
   * than the longest delay.
   */
  #reserve(now: number): number | undefined {
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#perSecond);
    this.#filledAt = now;
    const left = this.#tokens - 1;
    const waitMs = left >= 0 ? 0 : (-left / this.#perSecond) * 1000;
    if (waitMs > longestBackoffMs) return undefined;
    this.#tokens = left;
    return waitMs;
  }
}

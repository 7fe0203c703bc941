import { itemBackoff } from '../backoff.ts';

/**
 * When a failed key may run again: after its own back-off, and when a token bucket that all keys of a controller share
 * allows it, so that a thousand keys that fail together are not retried together.
 */
export class RetryLimiter {
  readonly #now: () => number;
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #failures = new Map<string, number>();
  #tokens: number;
  #filledAt: number;

  /** `now`: monotonic ms. Defaults: 10 a second, burst 100. */
  constructor(now: () => number, options: { perSecond?: number; burst?: number } = {}) {
    this.#now = now;
    this.#perSecond = options.perSecond ?? 10;
    this.#burst = options.burst ?? 100;
    this.#tokens = this.#burst;
    this.#filledAt = now();
  }

  /** Counts one more failure of `key` and returns its delay. Units: ms. */
  next(key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    return Math.max(itemBackoff(failures), this.#reserve());
  }

  /** Number of failures of `key` in a row. */
  failures(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** The key succeeded: its failures are reset. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #reserve(): number {
    const now = this.#now();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((now - this.#filledAt) / 1000) * this.#perSecond);
    this.#filledAt = now;
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000;
  }
}

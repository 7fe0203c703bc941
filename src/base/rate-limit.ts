import type { Clock } from './clock.ts';

interface Bucket {
  tokens: number;
  /** Monotonic ms of the last change. */
  at: number;
}

const maxBuckets = 10_000;

/**
 * One token bucket per verified caller: `perMinute` tokens at once, refilled evenly. The limit holds per process, so
 * replicas multiply it. At most 10 000 callers are remembered. For one more, the caller that has been idle longest is
 * forgotten. The callers that have been idle longest after it are forgotten too, up to the first one whose bucket is
 * not full, and at most 100 callers in all.
 */
export class RateLimiter {
  readonly #perMinute: number;
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute;
    this.#clock = clock;
  }

  /** Takes one token; null when there was one, else the whole seconds until the next. */
  take(caller: string): number | null {
    const now = this.#clock.monotonic();
    const perMs = this.#perMinute / 60_000;
    const old = this.#buckets.get(caller);
    const tokens = old ? Math.min(this.#perMinute, old.tokens + (now - old.at) * perMs) : this.#perMinute;
    this.#buckets.delete(caller);
    if (!old && this.#buckets.size >= maxBuckets) this.#evict(now, perMs);
    // Refilling by fractions must not lose a token to rounding.
    const granted = tokens >= 1 - 1e-9;
    this.#buckets.set(caller, { tokens: granted ? Math.max(0, tokens - 1) : tokens, at: now });
    return granted ? null : Math.max(1, Math.ceil((1 - tokens) / perMs / 1000));
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** The map is in order of last use: idle callers come first, mostly with full buckets. */
  #evict(now: number, perMs: number): void {
    let dropped = 0;
    for (const [caller, bucket] of this.#buckets) {
      const full = bucket.tokens + (now - bucket.at) * perMs >= this.#perMinute;
      if (!full && dropped > 0) break;
      this.#buckets.delete(caller);
      if (++dropped >= 100) break;
    }
  }
}

import { sha256Hex } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { RateLimiter } from '../../base/rate-limit.ts';
import { networkOf } from '../http/peer-address.ts';

/** Reviews per minute of tokens that are seen for the first time: from one address, from one network, and in total. */
const perAddress = 120;
const perNetwork = 600;
const inAll = 1_200;
/** How long a token that was found valid may be reviewed again without counting. Units: ms. */
const knownMs = 600_000;
const maxKnown = 2_000;

/**
 * Limits the TokenReviews that callers without any permission can cause: each is a call to the API server. A token that
 * was valid within the last ten minutes does not count, so that a flood of invalid tokens does not lock out known
 * callers. A peer that has many addresses of IPv6 takes half of all at most.
 */
export class ReviewLimit {
  readonly #clock: Clock;
  readonly #addresses: RateLimiter;
  readonly #networks: RateLimiter;
  readonly #all: RateLimiter;
  readonly #known = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#addresses = new RateLimiter(perAddress, clock);
    this.#networks = new RateLimiter(perNetwork, clock);
    this.#all = new RateLimiter(inAll, clock);
  }

  /** Null when the token may be reviewed now, else the whole seconds to wait. */
  take(address: string | undefined, token: string): number | null {
    if ((this.#known.get(sha256Hex(token)) ?? 0) > this.#clock.monotonic()) return null;
    const from = address ?? '';
    return this.#addresses.take(from) ?? this.#networks.take(networkOf(from)) ?? this.#all.take('');
  }

  /** Remembers that the token was valid; only its hash is kept. */
  valid(token: string): void {
    const hash = sha256Hex(token);
    this.#known.delete(hash);
    if (this.#known.size >= maxKnown) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(hash, this.#clock.monotonic() + knownMs);
  }
}

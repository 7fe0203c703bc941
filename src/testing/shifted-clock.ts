import { systemClock, type Clock } from '../base/clock.ts';

/**
 * The machine's clock, moved to another date or ahead by an amount that a test sets. Timers run in real time. For tests
 * over real sockets that need an expired cache or the date of recorded data: a fake clock would also stop every
 * deadline.
 */
export class ShiftedClock implements Clock {
  readonly #ahead: number;
  #shifted = 0;

  /** Starts at `now`, milliseconds since the epoch; at the machine's time by default. */
  constructor(now: number = systemClock.now()) {
    this.#ahead = now - systemClock.now();
  }

  now(): number {
    return systemClock.now() + this.#ahead + this.#shifted;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#shifted;
  }

  setTimeout(...timer: Parameters<Clock['setTimeout']>): () => void {
    return systemClock.setTimeout(...timer);
  }

  /** Moves ahead by `ms` milliseconds. */
  shift(ms: number): void {
    this.#shifted += ms;
  }
}

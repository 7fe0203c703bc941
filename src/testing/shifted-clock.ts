import { systemClock, type Clock } from '../base/clock.ts';

/**
 * The machine's clock, ahead by as much as a test says. Timers run in real time: for tests over real sockets that
 * need a cache to grow old, where a clock that stands still would also stop every deadline.
 */
export class ShiftedClock implements Clock {
  #offset = 0;

  now(): number {
    return systemClock.now() + this.#offset;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#offset;
  }

  setTimeout(fn: () => void, ms: number): () => void {
    return systemClock.setTimeout(fn, ms);
  }

  /** Moves ahead by `ms` milliseconds. */
  shift(ms: number): void {
    this.#offset += ms;
  }
}

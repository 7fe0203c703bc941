/**
 * Time as a parameter: tests pass a clock whose time they move by hand (`src/testing/fake-clock.ts`).
 * Deadlines of work are set by `within` and `TimeLimit` (`src/base/time-limit.ts`); lint refuses `AbortSignal.timeout`.
 * The machine's own timers are used in only three places: the servers of `src/net` and `src/agent/servers` (their
 * sockets run in real time in tests too), the supervisor of the instrument (a separate program), and the entry points
 * in `src/bin`.
 */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump; never use it to measure a span. */
  now(): number;
  /** Monotonic time, milliseconds from an arbitrary origin. */
  monotonic(): number;
  /**
   * Runs `fn` once after `ms` milliseconds, or after 2^31 - 1 (24 days) if `ms` is more. The returned function cancels
   * it; calling it twice is harmless.
   * With `unref` the timer does not keep the process alive.
   */
  setTimeout(fn: () => void, ms: number, options?: { readonly unref?: boolean }): () => void;
}

/** Longest delay of the machine's timers, which fire after 1 ms when theirs is longer. Units: ms. */
const longestDelayMs = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms, options) => {
    const timer = setTimeout(fn, Math.min(ms, longestDelayMs));
    if (options?.unref === true) timer.unref();
    return () => clearTimeout(timer);
  },
};

/**
 * Waits `ms` milliseconds on the given clock.
 * Errors: rejects with the signal's reason when it aborts first.
 */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const onAbort = (): void => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

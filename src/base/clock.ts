/**
 * Time as a parameter. Nothing outside `src/bin` reads the system clock or sets a timer directly:
 * tests pass a clock whose time they move by hand (`src/testing/fake-clock.ts`).
 */
export interface Clock {
  /** Wall time, milliseconds since the epoch. May jump; never use it to measure a span. */
  now(): number;
  /** Monotonic time, milliseconds from an arbitrary origin. */
  monotonic(): number;
  /** Runs `fn` once after `ms` milliseconds. The returned function cancels it; calling it twice is harmless. */
  setTimeout(fn: () => void, ms: number): () => void;
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (fn, ms) => {
    const timer = setTimeout(fn, ms);
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

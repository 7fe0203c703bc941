/**
 * Delay before the next request of one list-and-watch.
 * Shape: pure; `failures` counts the failures since the last quiet period, from 1; `random` is in [0, 1).
 * Units: milliseconds. Result in [800, 30_000] before jitter; jitter adds up to 100 %.
 * Source of the numbers: client-go's reflector.
 */
export function watchBackoff(failures: number, random: number): number {
  const base = Math.min(800 * 2 ** Math.min(Math.max(failures, 1) - 1, 10), 30_000);
  return base * (1 + random);
}

/** Longest delay of a failed key. Units: ms. */
export const longestBackoffMs = 300_000;

/**
 * Delay before a key that failed `failures` times in a row (from 1) runs again.
 * Units: ms. The delay is 5 ms after the first failure, and doubles with each further one up to five minutes. With
 * client-go's cap of 1000 s, objects would wait for a quarter of an hour after an outage.
 */
export function itemBackoff(failures: number): number {
  return Math.min(5 * 2 ** Math.min(Math.max(failures, 1) - 1, 30), longestBackoffMs);
}

/** A list-and-watch counts as healthy again after this long without a failure. Units: ms. */
export const quietMs = 120_000;

import type { Clock } from '../base/clock.ts';

/**
 * The remaining time of a request. One is created per request and passed to every call that serves the request, so that
 * the calls end before the caller gives up, after five seconds.
 */
export interface Deadline {
  /** Milliseconds left; 0 when it has passed. */
  remaining(): number;
  /** The smaller of `ms` and the remaining time. */
  atMost(ms: number): number;
}

/** A deadline `ms` milliseconds from now, on the monotonic clock. */
export function deadlineIn(clock: Clock, ms: number): Deadline {
  const end = clock.monotonic() + ms;
  const remaining = (): number => Math.max(0, end - clock.monotonic());
  return { remaining, atMost: (limit) => Math.min(limit, remaining()) };
}

/**
 * The promise's result, or `onTimeout()` thrown once the deadline passes. The work itself continues: it is shared with
 * other requests, or has a limit of its own.
 */
export async function orTimeout<T>(
  clock: Clock,
  deadline: Deadline,
  work: Promise<T>,
  onTimeout: () => Error,
): Promise<T> {
  let cancel = (): void => {};
  const timeout = new Promise<never>((_, reject) => {
    cancel = clock.setTimeout(() => reject(onTimeout()), deadline.remaining());
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}

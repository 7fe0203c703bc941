import type { Clock } from '../base/clock.ts';

/**
 * Runs `fn` once when a peer's deadline passes: after `ms`, or later if the timer extends it, but never later than
 * `latestMs`. Returns the function that cancels it; calling that twice is harmless.
 */
export type DeadlineTimer = (fn: () => void, ms: number, latestMs: number) => () => void;

/** The plain deadline, never extended. */
export const plainTimer: DeadlineTimer = (fn, ms) => {
  const timer = setTimeout(fn, ms);
  return () => clearTimeout(timer);
};

export interface AttendedTimerOptions {
  readonly clock: Clock;
  /** Milliseconds in which this process was busy instead of waiting, counted from any fixed moment. */
  readonly busyMs: () => number;
}

/**
 * A deadline that only counts the time in which we could have read the answer: the time that this process was busy is
 * added to it. A peer whose answer lies in our own buffers is not slow.
 */
export function attendedTimer({ clock, busyMs }: AttendedTimerOptions): DeadlineTimer {
  return (fn, ms, latestMs) => {
    const started = clock.monotonic();
    const busyBefore = busyMs();
    let cancel = (): void => {};
    const arm = (after: number): void => {
      cancel = clock.setTimeout(() => {
        const due = Math.min(ms + busyMs() - busyBefore, Math.max(ms, latestMs));
        const left = due - (clock.monotonic() - started);
        if (left >= 1) arm(left);
        else fn();
      }, after);
    };
    arm(ms);
    return () => cancel();
  };
}

/** The time during which this process' event loop was busy. */
export const eventLoopBusyMs = (): number => performance.eventLoopUtilization().active;

import type { Clock } from '../base/clock.ts';

/**
 * Runs `fn` once when a peer's time is up: after `ms`, and where the timer puts that off, never later than `latestMs`.
 * Gives back what cancels it; calling that twice is harmless.
 */
export type DeadlineTimer = (fn: () => void, ms: number, latestMs: number) => () => void;

/** The deadline as it is. */
export const plainTimer: DeadlineTimer = (fn, ms) => {
  const timer = setTimeout(fn, ms);
  return () => clearTimeout(timer);
};

export interface AttendedTimerOptions {
  readonly clock: Clock;
  /** Milliseconds in which this process had other things to do than to wait, since any moment. */
  readonly busyMs: () => number;
}

/**
 * A deadline of which only the time counts in which we could have read the answer: what this process was busy for is
 * given to the peer on top. A peer whose answer lies in our own buffers is not slow.
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

/** The time that this process' event loop was not waiting for something to happen. */
export const eventLoopBusyMs = (): number => performance.eventLoopUtilization().active;

import type { Clock } from './clock.ts';
import { LinkedAbort } from './linked-abort.ts';

/**
 * A signal that aborts with a DOMException `TimeoutError` when `ms` milliseconds have passed on the given clock. When
 * the outer signal aborts earlier, this one aborts with the same reason. `reason` makes another error in place of the
 * `TimeoutError`.
 * `AbortSignal.timeout` would read the machine's clock, and keep its timer after the work has ended.
 * Call `release` when the work has ended: it cancels the timer. A running timer does not keep the process alive.
 */
export class TimeLimit {
  readonly #link: LinkedAbort;
  readonly #cancel: () => void;
  #passed = false;

  constructor(clock: Clock, ms: number, outer?: AbortSignal, reason: () => unknown = (): unknown => timeout(ms)) {
    this.#link = new LinkedAbort(outer);
    const end = (): void => {
      this.#passed = true;
      this.#link.abort(reason());
    };
    this.#cancel = clock.setTimeout(end, ms, { unref: true });
  }

  get signal(): AbortSignal {
    return this.#link.signal;
  }

  /** Whether the time has passed; false when the outer signal alone aborted. */
  get passed(): boolean {
    return this.#passed;
  }

  release(): void {
    this.#cancel();
    this.#link.release();
  }
}

/**
 * Runs `work` with the signal of a time limit and releases the limit when the work has settled. The work has to heed
 * the signal: this function waits for the work even when its time has passed.
 */
export async function within<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  outer?: AbortSignal,
): Promise<T> {
  const limit = new TimeLimit(clock, ms, outer);
  try {
    return await work(limit.signal);
  } finally {
    limit.release();
  }
}

function timeout(ms: number): DOMException {
  return new DOMException(`not done within ${Math.round(ms)} ms`, 'TimeoutError');
}

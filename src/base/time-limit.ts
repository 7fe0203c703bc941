import type { Clock } from './clock.ts';
import { LinkedAbort } from './linked-abort.ts';

/**
 * A signal that aborts when `ms` milliseconds have passed on the given clock, with a DOMException `TimeoutError`, or
 * earlier when the outer signal aborts, with that signal's reason. `reason` makes another error in place of the
 * `TimeoutError`.
 * It takes the place of `AbortSignal.timeout`, which reads the machine's clock and keeps its timer after the work has
 * ended.
 * Call `release` when the work has ended: it cancels the timer. Until then the timer does not keep the process alive.
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
 * its signal: this function waits for it.
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

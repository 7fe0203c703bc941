import type { Clock } from '../base/clock.ts';
import { errorText, OperatorError } from '../base/errors.ts';

/**
 * Ends a call when its deadline passes or its caller aborts it. An AbortController for each call would cost more than
 * all our other work for the call.
 */
export class CallLimit {
  /** Why the call must end; undefined as long as it may continue. */
  reason: OperatorError | undefined;
  /** Called once, when the call must end; set by the code that waits on behalf of the call. */
  onEnd: ((reason: OperatorError) => void) | undefined;
  /** When the call must end. Monotonic ms. */
  endsAt = Infinity;
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #what: string;
  readonly #signal: AbortSignal | undefined;
  #cancelTimer = (): void => {};
  readonly #onAbort = (): void =>
    this.#end(new OperatorError('ERR_ABORTED', `${this.#what}: cancelled`, { cause: this.#signal?.reason }));

  /** `what` names the call in messages. Units: ms. */
  constructor(clock: Clock, ms: number, what: string, signal: AbortSignal | undefined) {
    this.#clock = clock;
    this.#ms = ms;
    this.#what = what;
    this.#signal = signal;
    this.#start();
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /**
   * Waits for work that goes on when the call ends, because other calls share it. `timed`: false for work whose time does
   * not count; the deadline begins anew after it. Errors: that of the work; the reason when the call must end first.
   */
  share<T>(work: Promise<T>, timed: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.reason) return reject(this.reason);
      if (!timed) this.#cancelTimer();
      this.onEnd = reject;
      const settle = (act: () => void): void => {
        // The call has ended, and has the reason already.
        if (this.reason) return;
        this.onEnd = undefined;
        if (!timed) this.#start();
        act();
      };
      work.then(
        (value) => settle(() => resolve(value)),
        (error: Error) => settle(() => reject(error)),
      );
    });
  }

  /** Waits for `ms`. Errors: rejects with the reason when the call must end first. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.reason) return reject(this.reason);
      const cancel = this.#clock.setTimeout(() => {
        this.onEnd = undefined;
        resolve();
      }, ms);
      this.onEnd = (reason) => {
        cancel();
        reject(reason);
      };
    });
  }

  /** The error that the caller gets for a failure; the reason why the call had to end takes precedence. */
  explain(error: unknown): unknown {
    if (this.reason) return this.reason;
    if (error instanceof OperatorError) return error;
    return new OperatorError('ERR_API_REQUEST', `${this.#what}: ${errorText(error)}`, { cause: error });
  }

  /** To be called when the call is over: removes the timer and the listeners. */
  close(): void {
    this.#cancelTimer();
    this.#signal?.removeEventListener('abort', this.#onAbort);
    this.onEnd = undefined;
  }

  #start(): void {
    this.endsAt = this.#clock.monotonic() + this.#ms;
    this.#cancelTimer = this.#clock.setTimeout(
      () => this.#end(new OperatorError('ERR_TIMEOUT', `${this.#what}: no answer within ${this.#ms} ms`)),
      this.#ms,
    );
  }

  #end(reason: OperatorError): void {
    if (this.reason) return;
    this.reason = reason;
    this.onEnd?.(reason);
  }
}

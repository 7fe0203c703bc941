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
  readonly #what: string;
  readonly #signal: AbortSignal | undefined;
  readonly #cancelTimer: () => void;
  readonly #onAbort = (): void => this.#end(new OperatorError('ERR_ABORTED', `${this.#what}: cancelled`));

  /** `what` names the call in messages. Units: ms. */
  constructor(clock: Clock, ms: number, what: string, signal: AbortSignal | undefined) {
    this.#what = what;
    this.#signal = signal;
    this.#cancelTimer = clock.setTimeout(
      () => this.#end(new OperatorError('ERR_TIMEOUT', `${what}: no answer within ${ms} ms`)),
      ms,
    );
    if (signal?.aborted) this.#onAbort();
    else signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Waits for `ms`. Errors: rejects with the reason when the call must end first. */
  pause(clock: Clock, ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.reason) return reject(this.reason);
      const cancel = clock.setTimeout(() => {
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

  #end(reason: OperatorError): void {
    if (this.reason) return;
    this.reason = reason;
    this.onEnd?.(reason);
  }
}

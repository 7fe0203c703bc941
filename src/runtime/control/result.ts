import { OperatorError } from '../../base/errors.ts';

/** This reconcile cannot succeed before the object changes: no retry; the next event runs it again. */
export class TerminalError extends OperatorError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('ERR_TERMINAL', message, options);
    this.name = 'TerminalError';
  }
}

/**
 * Ends this reconcile from deep inside a call tree, and runs it again after a delay. Not counted as a failure.
 * Errors: the constructor throws a TypeError when the delay is NaN.
 */
export class RequeueError extends OperatorError {
  readonly afterMs: number;

  /** `afterMs`: ms from now. */
  constructor(afterMs: number, message: string, options?: { cause?: unknown }) {
    super('ERR_REQUEUE', message, options);
    checkDelay(afterMs, `RequeueError (${message})`);
    this.name = 'RequeueError';
    this.afterMs = afterMs;
  }
}

/** Errors: TypeError for NaN, as from a date that cannot be parsed. It names `what`. */
export function checkDelay(ms: number, what: string): void {
  if (Number.isNaN(ms)) throw new TypeError(`${what}: the delay is not a number`);
}

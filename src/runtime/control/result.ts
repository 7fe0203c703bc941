import { OperatorError } from '../../base/errors.ts';

/** This reconcile cannot succeed before the object changes: no retry; the next event runs it again. */
export class TerminalError extends OperatorError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('ERR_TERMINAL', message, options);
    this.name = 'TerminalError';
  }
}

/** Ends this reconcile from deep inside a call tree, and runs it again after a delay. Not counted as a failure. */
export class RequeueError extends OperatorError {
  readonly afterMs: number;

  constructor(afterMs: number, message: string, options?: { cause?: unknown }) {
    super('ERR_REQUEUE', message, options);
    this.name = 'RequeueError';
    this.afterMs = afterMs;
  }
}

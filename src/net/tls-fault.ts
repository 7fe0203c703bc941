import { isOperatorError, OperatorError } from '../base/errors.ts';

/** The parts of a call that its error texts name. */
export interface Exchange {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  /** Units: ms. */
  readonly deadlineMs: number;
  /** Units: bytes. */
  readonly maxBytes: number;
  readonly signal?: AbortSignal;
}

/** The error for a failed call to a peer: ERR_PEER_IDENTITY, ERR_TIMEOUT, ERR_ABORTED or ERR_AGENT_UNREACHABLE. */
export function explain(cause: unknown, options: Exchange, isLate: boolean): OperatorError {
  if (isOperatorError(cause, 'ERR_PEER_IDENTITY')) {
    return new OperatorError('ERR_PEER_IDENTITY', `${target(options)}: ${cause.message}`, { cause: cause.cause });
  }
  if (cause instanceof OperatorError) return cause;
  if (isLate) {
    return new OperatorError('ERR_TIMEOUT', `${target(options)}: no answer within ${options.deadlineMs} ms`, { cause });
  }
  if (options.signal?.aborted) return new OperatorError('ERR_ABORTED', `${target(options)}: cancelled`, { cause });
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause);
  return new OperatorError('ERR_AGENT_UNREACHABLE', `${target(options)}: ${reason}`, { cause });
}

/** The error for an answer that is larger than the call allows. */
export function tooLarge(options: Exchange): OperatorError {
  return new OperatorError('ERR_TOO_LARGE', `${target(options)}: answer is larger than ${options.maxBytes} bytes`);
}

function target(options: Exchange): string {
  return `${options.method} ${options.host}:${options.port}${options.path.split('?')[0]}`;
}

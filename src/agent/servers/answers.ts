import type { ServerResponse } from 'node:http';
import type { Counter, Gauge } from 'prom-client';
import { isOperatorError, OperatorError } from '../../base/errors.ts';
import { goneSignal } from '../../net/http/index.ts';

/** Requests by status, and requests in flight. */
export interface RequestCounts {
  readonly requests: Counter<'code'>;
  readonly inflight: Gauge;
}

/**
 * Counts a request while `serve` answers it, and then by its status. `gone` aborts when the caller gives the request up;
 * then it counts as 499, and an error of `serve` is ignored. `fail` answers any other error, or cuts the connection if
 * the answer has begun.
 */
export async function counted(
  res: ServerResponse,
  { requests, inflight }: RequestCounts,
  serve: (gone: AbortSignal) => Promise<void>,
  fail: (error: unknown) => void,
): Promise<void> {
  const gone = goneSignal(res);
  let isGivenUp = false;
  inflight.inc();
  try {
    await serve(gone);
    isGivenUp = gone.aborted;
  } catch (error) {
    isGivenUp = gone.aborted;
    if (!isGivenUp) fail(error);
  } finally {
    inflight.dec();
    requests.inc({ code: isGivenUp ? '499' : String(res.statusCode) });
  }
}

/** Writes a complete answer. */
export function answerText(res: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  res.end(body);
}

export function answerJson(res: ServerResponse, status: number, value: unknown): void {
  answerText(res, status, 'application/json', JSON.stringify(value));
}

/** An error as `{code, message}`; `code` is lower-case words. */
export function answerError(res: ServerResponse, status: number, code: string, message: string): void {
  answerJson(res, status, { code, message });
}

/** Refuses a method, with the header that lists the allowed ones. */
export function answerMethod(res: ServerResponse, allow: string): void {
  res.setHeader('allow', allow);
  answerError(res, 405, 'method_not_allowed', `use ${allow}`);
}

/**
 * The JSON of a body. Errors: ERR_INPUT_INVALID, deliberately without a cause: a parser's message quotes the text, and
 * the text may hold a secret.
 */
export function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new OperatorError('ERR_INPUT_INVALID', 'body is not JSON');
  }
}

/** Answers errors of the caller: 400 or 413. False for any other error, which the calling function has to handle. */
export function answerRefusal(res: ServerResponse, error: unknown): boolean {
  if (isOperatorError(error, 'ERR_INPUT_INVALID')) answerError(res, 400, 'bad_request', error.message);
  else if (isOperatorError(error, 'ERR_TOO_LARGE')) {
    // The rest of the body is not read.
    res.setHeader('connection', 'close');
    answerError(res, 413, 'too_large', error.message);
  } else return false;
  return true;
}

import type { ServerResponse } from 'node:http';
import { isOperatorError, OperatorError } from '../../base/errors.ts';

/** Writes a whole answer. */
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

/** A refused method, with the header that tells which are allowed. */
export function answerMethod(res: ServerResponse, allow: string): void {
  res.setHeader('allow', allow);
  answerError(res, 405, 'method_not_allowed', `use ${allow}`);
}

/**
 * The JSON of a body. Errors: ERR_INPUT_INVALID, on purpose without a cause: a parser's words quote the text, and the
 * text may hold a secret.
 */
export function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new OperatorError('ERR_INPUT_INVALID', 'body is not JSON');
  }
}

/** Answers what is the caller's fault: 400 or 413. False for any other error, which is left to the caller of this. */
export function answerRefusal(res: ServerResponse, error: unknown): boolean {
  if (isOperatorError(error, 'ERR_INPUT_INVALID')) answerError(res, 400, 'bad_request', error.message);
  else if (isOperatorError(error, 'ERR_TOO_LARGE')) {
    // The rest of the body is not read.
    res.setHeader('connection', 'close');
    answerError(res, 413, 'too_large', error.message);
  } else return false;
  return true;
}

import type { ServerResponse } from 'node:http';

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

import type { Dispatcher } from 'undici';
import { OperatorError } from '../base/errors.ts';
import type { CallLimit } from './call-limit.ts';

/** A complete answer. */
export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

export interface ExchangeOptions {
  limit: CallLimit;
  /** Names the request in messages. */
  what: string;
  maxBytes: number;
  /** Called when the head of the answer has arrived. */
  onHead?: ((status: number) => void) | undefined;
}

/**
 * Sends one request and collects its answer.
 * Parts of the answer are collected as the connection delivers them: a stream per answer would cost more than all our
 * other work for the answer.
 * Errors: ERR_TOO_LARGE; an error of the connection; the reason for which `limit` ended the call.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  { limit, what, maxBytes, onHead }: ExchangeOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let connection: Dispatcher.DispatchController | undefined;
    let status = 0;
    let headers: Answer['headers'] = {};
    let settled = false;
    let size = 0;
    const chunks: Uint8Array[] = [];
    const settle = (act: () => void): void => {
      if (settled) return;
      settled = true;
      limit.onEnd = undefined;
      act();
    };
    const fail = (error: Error): void => {
      settle(() => reject(error));
      connection?.abort(error);
    };
    if (limit.reason) return fail(limit.reason);
    limit.onEnd = fail;
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(controller) {
        connection = controller;
        // The call ended while the request waited for a connection.
        if (settled) controller.abort(new OperatorError('ERR_ABORTED', `${what}: cancelled`));
      },
      onResponseStart(_controller, code, head) {
        // 1xx: the final answer is still to come.
        if (code < 200) return;
        status = code;
        headers = head;
        onHead?.(code);
      },
      onResponseData(_controller, chunk) {
        size += chunk.length;
        if (size > maxBytes) {
          fail(new OperatorError('ERR_TOO_LARGE', `${what}: the answer is larger than ${maxBytes} bytes`));
        } else chunks.push(chunk);
      },
      onResponseEnd() {
        const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
        const text = Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8');
        settle(() => resolve({ status, headers, text }));
      },
      onResponseError(_controller, error) {
        fail(error);
      },
    };
    try {
      dispatcher.dispatch(request, handler);
    } catch (error) {
      fail(error as Error);
    }
  });
}

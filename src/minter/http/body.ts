import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Deadline } from '../deadline.ts';
import { Refusal } from '../refusal.ts';

/**
 * The whole body, at most `maxBytes`, before the deadline.
 * Errors: Refusal `payload_too_large` or `request_timeout`; `invalid_request` when the client goes away.
 */
export function readBody(req: IncomingMessage, maxBytes: number, clock: Clock, deadline: Deadline): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (settle: () => void): void => {
      cancel();
      req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone);
      settle();
    };
    const fail = (refusal: Refusal): void => done(() => reject(refusal));
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > maxBytes) fail(tooLarge(maxBytes));
      else chunks.push(chunk);
    };
    const onEnd = (): void => done(() => resolve(Buffer.concat(chunks)));
    const onGone = (): void => fail(new Refusal('invalid_request', 'aborted', 'the body ended too early'));
    const cancel = clock.setTimeout(
      () => fail(new Refusal('request_timeout', 'slow_body', 'the body did not arrive in time')),
      deadline.remaining(),
    );
    req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone);
  });
}

export function tooLarge(maxBytes: number): Refusal {
  return new Refusal('payload_too_large', 'body_size', `the body is larger than ${maxBytes} bytes`);
}

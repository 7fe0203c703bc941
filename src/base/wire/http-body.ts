import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * All bytes of a body. A body that is too large ends the source, and with it the connection.
 * Errors: that of `tooLarge` beyond `maxBytes`; those of the source.
 */
export async function readWhole(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of source) {
    size += part.length;
    if (size > maxBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts, size);
}

/**
 * The answer to a request that has been sent. A later error of the request, such as a malformed chunk that arrives with
 * the head, breaks off the answer's body. The error listener stays: without it such an error would end the process.
 * Errors: those of the request; one without a code when the connection closes and the request reports no error.
 */
export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.once('response', resolve);
    request.once('close', () => reject(unanswered()));
  });
}

/**
 * The error of a request that has closed with neither an answer nor an error, as Node does when the peer switches to
 * another protocol (101).
 */
export function unanswered(): Error {
  return new Error('connection closed without an answer');
}

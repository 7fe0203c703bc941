import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * All bytes of a body. Leaving early ends the source, and with it the connection that it comes from.
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
 * The answer to a request that has been sent. A later error of the request, such as a malformed body in the segment of
 * the head, breaks off the answer's body. The listener stays for such an error, which would otherwise end the process.
 * Errors: those of the request.
 */
export function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.on('error', reject);
    request.once('response', resolve);
  });
}

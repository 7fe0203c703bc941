import { once } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * All bytes of a body. Leaving early ends the source, and with it the connection that it comes from.
 * Errors: what `tooLarge` makes, beyond `maxBytes`; those of the source.
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

/** The answer to a request that has been sent. Errors: those of the request; a later one breaks the answer's body off. */
export async function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  request.on('error', () => {});
  return answer;
}

import type { IncomingMessage } from 'node:http';
import { ApiError } from './api-error.ts';

/**
 * A request's whole body. Errors: ApiError bad_data beyond `maxBytes`; the rest is then left to the caller that
 * answers, because the connection may be used again.
 */
export async function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > maxBytes) throw new ApiError('bad_data', `request body is larger than ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

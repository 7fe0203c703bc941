import type { IncomingMessage } from 'node:http';
import { readWhole } from '../../base/wire/http-body.ts';
import { ApiError } from './api-error.ts';

/**
 * A request's whole body.
 * Errors: ApiError bad_data beyond `maxBytes`; the request is then not destroyed, because the caller still answers it on
 * the same connection. ApiError canceled when the rest of the body does not come: the client has left, or the server has
 * already answered a slow one with 408.
 */
export async function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): Error => new ApiError('bad_data', `request body is larger than ${maxBytes} bytes`);
  try {
    return await readWhole(req.iterator({ destroyOnReturn: false }), maxBytes, tooLarge);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError('canceled', 'the request ended before its body was whole', { cause: error });
  }
}

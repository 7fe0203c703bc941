import type { IncomingMessage } from 'node:http';
import { readWhole } from '../../base/wire/http-body.ts';
import { ApiError } from './api-error.ts';

/**
 * A request's whole body. Errors: ApiError bad_data beyond `maxBytes`; the request is then not destroyed, because the
 * caller still answers it on the same connection.
 */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = (): Error => new ApiError('bad_data', `request body is larger than ${maxBytes} bytes`);
  return readWhole(req.iterator({ destroyOnReturn: false }), maxBytes, tooLarge);
}

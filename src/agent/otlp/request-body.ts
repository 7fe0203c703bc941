import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, inflate, zstdDecompress } from 'node:zlib';
import { errorText, OperatorError } from '../../base/errors.ts';

type Decompress = (data: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const decoders: Readonly<Record<string, Decompress>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
};

/** True when the receiver can decode this Content-Encoding. */
export function knownEncoding(header: string | undefined): boolean {
  const name = normalised(header);
  return name === '' || Object.hasOwn(decoders, name);
}

/**
 * Reads and decompresses a request's body, with or without a Content-Length.
 * Errors: ERR_TOO_LARGE beyond one of the limits (the rest of the body is not read), ERR_INPUT_INVALID when it does not
 * decompress or the sender broke off.
 */
export async function readBody(req: IncomingMessage, limits: { wire: number; decoded: number }): Promise<Buffer> {
  const body = await readRawBody(req, limits.wire);
  const encoding = normalised(req.headers['content-encoding']);
  if (encoding === '') return body;
  const decode = Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined;
  if (!decode) throw new OperatorError('ERR_INPUT_INVALID', 'content-encoding is not supported');
  try {
    return await decode(body, { maxOutputLength: limits.decoded });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(limits.decoded);
    throw new OperatorError('ERR_INPUT_INVALID', `body is not valid ${encoding}: ${errorText(cause)}`, { cause });
  }
}

/**
 * Reads a request's body as it was sent. Errors: as `readBody`.
 * Guarantees: the body can be freed before the request, which lives until its answer is sent. The listeners of the
 * request keep the promises that they settle, so none of these promises has the body as its value.
 */
export async function readRawBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  const chunks: Buffer[] = [];
  await new Promise<void>((resolve, reject) => {
    let size = 0;
    const broken = (cause?: Error): void => reject(new OperatorError('ERR_INPUT_INVALID', 'body broke off', { cause }));
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      req.pause();
      reject(tooLarge(maxBytes));
    });
    req.on('end', resolve);
    req.on('error', broken);
    req.on('close', () => req.readableEnded || broken());
  });
  const body = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  chunks.length = 0;
  return body;
}

function normalised(header: string | undefined): string {
  const name = (header ?? '').trim().toLowerCase();
  return name === 'identity' ? '' : name;
}

function tooLarge(cap: number): OperatorError {
  return new OperatorError('ERR_TOO_LARGE', `body is larger than ${cap} bytes`);
}

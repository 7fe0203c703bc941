import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';

export type Encoding = 'gzip' | 'zstd' | undefined;

/** The best encoding that a client accepts (RFC 9110 §12.5.3): zstd before gzip at equal weight. */
export function acceptedEncoding(header: string | undefined): Encoding {
  let best: { name: 'gzip' | 'zstd'; q: number } | undefined;
  for (const part of (header ?? '').split(',')) {
    const [name = '', ...parameters] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const q = Number(parameters.find((p) => p.startsWith('q='))?.slice(2) ?? 1);
    if ((name !== 'gzip' && name !== 'zstd') || !(q > 0)) continue;
    if (best === undefined || q > best.q || (q === best.q && name === 'zstd')) best = { name, q };
  }
  return best?.name;
}

/** The stream that the body is written to: the response itself, or a compressor in front of it. Sets the headers. */
export function encoded(req: IncomingMessage, res: ServerResponse): Writable {
  res.setHeader('vary', 'accept-encoding');
  const encoding = acceptedEncoding(req.headers['accept-encoding'] as string | undefined);
  if (encoding === undefined) return res;
  res.setHeader('content-encoding', encoding);
  const out =
    encoding === 'gzip'
      ? createGzip({ level: 1 })
      : createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  res.once('close', () => out.destroy());
  out.on('error', () => res.destroy());
  out.pipe(res);
  return out;
}

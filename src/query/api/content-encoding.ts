import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { parseQualityList } from '../../net/http/index.ts';

export type Encoding = 'gzip' | 'zstd' | undefined;

/** The best encoding that a client accepts (RFC 9110 §12.5.3): zstd before gzip at equal weight. */
export function acceptedEncoding(header: string | undefined): Encoding {
  let best: { name: 'gzip' | 'zstd'; weight: number } | undefined;
  for (const { value: name, weight } of parseQualityList(header ?? '')) {
    if ((name !== 'gzip' && name !== 'zstd') || weight === 0) continue;
    if (best === undefined || weight > best.weight || (weight === best.weight && name === 'zstd'))
      best = { name, weight };
  }
  return best?.name;
}

/** The stream that the body is written to: the response itself, or a compressor in front of it. Sets the headers. */
export function encoded(res: ServerResponse, encoding: Encoding): Writable {
  res.setHeader('vary', 'accept-encoding');
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

import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { createHttpServer, type DoorOptions, goneSignal, type HttpHandler, sendPart } from '../../net/http/index.ts';
import { refuseScrape } from '../../net/auth/scrape-right.ts';
import type { TokenAuth } from '../../net/auth/token-auth.ts';
import {
  chooseEncoding,
  chooseFormat,
  contentTypes,
  type ExpositionEncoding,
  type ExpositionFormat,
} from '../exposition/negotiate.ts';
import { answerMethod, answerText } from './answers.ts';

export interface ScrapeOptions {
  /**
   * The page in chunks, each valid until the next one is asked for; other work runs between two of them. Null until
   * `notReady` returns null.
   */
  readonly exposition: (format: ExpositionFormat) => AsyncIterable<Uint8Array> | null;
  readonly auth: Pick<TokenAuth, 'decide'>;
  /** Null when the agent is ready, else the step of its start that is missing. */
  readonly notReady: () => string | null;
  readonly logger: Logger;
}

/** A scraper that does not read its page in this time is disconnected. Units: ms. */
const slowReaderMs = 30_000;

/**
 * The scrape listener: `/metrics` for authorised readers, and without authentication the probes
 * `/livez` and `/readyz`.
 *
 * `/metrics` is Prometheus text 0.0.4 or OpenMetrics 1.0, whichever Accept prefers, and compressed with gzip or zstd if
 * Accept-Encoding prefers that. It is written in chunks with a turn of the event loop between them, so a large page
 * does not delay ingest. While the agent starts, `/metrics` answers 503 and names the missing step.
 */
export function createScrapeServer(options: ScrapeOptions, door: DoorOptions = {}): Server {
  return createHttpServer(scrapeHandler(options), door);
}

export function scrapeHandler(options: ScrapeOptions): HttpHandler {
  return (req, res) => {
    const { path } = requestTarget(req);
    if (req.method !== 'GET' && req.method !== 'HEAD') return answerMethod(res, 'GET');
    switch (path) {
      case '/livez':
        return answerText(res, 200, 'text/plain', 'ok\n');
      case '/readyz': {
        const missing = options.notReady();
        return answerText(res, missing === null ? 200 : 503, 'text/plain', missing === null ? 'ok\n' : `${missing}\n`);
      }
      case '/metrics':
        return serveMetrics(req, res, options).catch((error: unknown) => {
          if (res.destroyed) return; // the scraper disconnected
          options.logger.error('scrape failed', { error: errorText(error) });
          if (!res.headersSent) answerText(res, 500, 'text/plain', 'internal error\n');
          else res.destroy();
        });
      default:
        return answerText(res, 404, 'text/plain', 'not found\n');
    }
  };
}

async function serveMetrics(req: IncomingMessage, res: ServerResponse, options: ScrapeOptions): Promise<void> {
  const refusal = await refuseScrape(options.auth, req, res);
  if (refusal) return answerText(res, refusal.status, 'text/plain; charset=utf-8', `${refusal.message}\n`);
  const format = chooseFormat(req.headers.accept);
  const page = options.exposition(format);
  if (!page) {
    res.setHeader('retry-after', '1');
    return answerText(res, 503, 'text/plain; charset=utf-8', `${options.notReady() ?? 'starting'}\n`);
  }
  const encoding = chooseEncoding(String(req.headers['accept-encoding'] ?? ''));
  res.writeHead(200, {
    'content-type': contentTypes[format],
    vary: 'accept, accept-encoding',
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  });
  if (req.method === 'HEAD') return void res.end();
  res.setTimeout(slowReaderMs, () => res.destroy());
  const compressor = compressors[encoding]();
  if (compressor) await compress(compressor, page, res);
  else await write(res, page);
}

const compressors: Readonly<Record<ExpositionEncoding, () => Transform | null>> = {
  identity: () => null,
  gzip: () => createGzip({ level: 1 }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

/** Writes the page and ends the stream. Leaves the page when the stream is closed earlier. */
async function write(out: Writable, page: AsyncIterable<Uint8Array>): Promise<void> {
  const gone = goneSignal(out);
  for await (const chunk of page) {
    await sendPart(out, chunk, gone);
    if (gone.aborted) return;
    await turn();
  }
  out.end();
}

async function compress(compressor: Transform, page: AsyncIterable<Uint8Array>, res: ServerResponse): Promise<void> {
  const written = write(compressor, page).catch((error: unknown) => {
    compressor.destroy();
    throw error;
  });
  await Promise.all([written, pipeline(compressor, res)]);
}

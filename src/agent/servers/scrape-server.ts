import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { constants, createGzip, createZstdCompress } from 'node:zlib';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { serverLimits } from '../../net/https-server.ts';
import type { Decision, TokenAuth } from '../../net/token-auth.ts';
import {
  chooseEncoding,
  chooseFormat,
  contentTypes,
  type ExpositionEncoding,
  type ExpositionFormat,
} from '../exposition/negotiate.ts';
import { answerMethod, answerText } from './answers.ts';

export interface ScrapeOptions {
  /** The page in chunks. Between two of them other work gets its turn. */
  readonly exposition: (format: ExpositionFormat) => AsyncIterable<Uint8Array>;
  readonly auth: Pick<TokenAuth, 'decide'>;
  /** Null when ready, else what is missing. */
  readonly notReady: () => string | null;
  /** False while the instrument must be restarted by its liveness probe. */
  readonly instrumentMayLive: () => boolean;
  readonly logger: Logger;
}

/** A scraper that does not read its page in this time is cut. Units: ms. */
const slowReaderMs = 30_000;

/**
 * The scrape listener: `/metrics` for authorised readers, and without authentication the probes
 * `/livez`, `/readyz` and `/instrument/live` (the liveness probe of the instrument's container).
 *
 * `/metrics` is Prometheus text 0.0.4 or OpenMetrics 1.0 as Accept prefers, with gzip or zstd as Accept-Encoding does.
 * It is written in chunks with a turn of the event loop between them: a large page holds up no ingest.
 */
export function createScrapeServer(options: ScrapeOptions): Server {
  return createServer(serverLimits, scrapeHandler(options));
}

export function scrapeHandler(options: ScrapeOptions): RequestListener {
  return (req, res) => {
    const path = (req.url ?? '/').split('?', 1)[0];
    if (req.method !== 'GET' && req.method !== 'HEAD') return answerMethod(res, 'GET');
    switch (path) {
      case '/livez':
        return answerText(res, 200, 'text/plain', 'ok\n');
      case '/readyz': {
        const missing = options.notReady();
        return answerText(res, missing === null ? 200 : 503, 'text/plain', missing === null ? 'ok\n' : `${missing}\n`);
      }
      case '/instrument/live':
        return answerText(res, options.instrumentMayLive() ? 200 : 503, 'text/plain', '');
      case '/metrics':
        serveMetrics(req, res, options).catch((error: unknown) => {
          if (res.destroyed) return; // the scraper went away
          options.logger.error('scrape failed', { error: errorText(error) });
          if (!res.headersSent) answerText(res, 500, 'text/plain', 'internal error\n');
          else res.destroy();
        });
        return;
      default:
        return answerText(res, 404, 'text/plain', 'not found\n');
    }
  };
}

async function serveMetrics(req: IncomingMessage, res: ServerResponse, options: ScrapeOptions): Promise<void> {
  const decision = await options.auth.decide(req, 'get', '/metrics');
  if (!decision.allowed) {
    if (decision.status === 401) res.setHeader('www-authenticate', 'Bearer');
    return answerText(res, decision.status, 'text/plain; charset=utf-8', `${refusalText(decision)}\n`);
  }
  const format = chooseFormat(req.headers.accept);
  const encoding = chooseEncoding(String(req.headers['accept-encoding'] ?? ''));
  res.writeHead(200, {
    'content-type': contentTypes[format],
    vary: 'accept, accept-encoding',
    ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }),
  });
  if (req.method === 'HEAD') return void res.end();
  res.setTimeout(slowReaderMs, () => res.destroy());
  const compressor = compressors[encoding]();
  if (compressor) await pipeline(paced(options.exposition(format)), compressor, res);
  else await write(res, options.exposition(format));
}

const compressors: Readonly<Record<ExpositionEncoding, () => Transform | null>> = {
  identity: () => null,
  gzip: () => createGzip({ level: 1 }),
  zstd: () => createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

async function* paced(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) {
    yield part;
    await turn();
  }
}

async function write(res: ServerResponse, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  for await (const part of paced(parts)) {
    if (gone.signal.aborted) return;
    if (!res.write(part)) await once(res, 'drain', { signal: gone.signal });
  }
  res.end();
}

/** Says what is missing, so that whoever reads it can put it right. */
function refusalText(decision: Exclude<Decision, { allowed: true }>): string {
  switch (decision.status) {
    case 401:
      return `${decision.message}: send one as "Authorization: Bearer …"`;
    case 403:
      return `${decision.message}: the right "get" on the nonResourceURL "/metrics" is missing; ClusterRole svc-metrics-reader grants it`;
    default:
      return decision.message;
  }
}

import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { serverLimits } from '../../net/https-server.ts';
import type { TokenAuth } from '../../net/token-auth.ts';
import { answerMethod, answerText } from './answers.ts';

export interface ScrapeOptions {
  /** The exposition, in parts; nothing is awaited between the parts of one family. */
  readonly exposition: () => AsyncIterable<string>;
  readonly auth: Pick<TokenAuth, 'decide'>;
  /** Null when ready, else what is missing. */
  readonly notReady: () => string | null;
  /** False while the instrument must be restarted by its liveness probe. */
  readonly instrumentMayLive: () => boolean;
  readonly logger: Logger;
}

const compress = promisify(gzip);
const textFormat = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The scrape listener: `/metrics` for authorised readers, and without authentication the probes
 * `/livez`, `/readyz` and `/instrument/live` (the liveness probe of the instrument's container).
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
    return answerText(res, decision.status, 'text/plain; charset=utf-8', `${decision.message}\n`);
  }
  const parts: string[] = [];
  for await (const part of options.exposition()) parts.push(part);
  const body = Buffer.from(parts.join(''));
  res.setHeader('vary', 'accept-encoding');
  if (!acceptsGzip(req.headers['accept-encoding'])) return answerText(res, 200, textFormat, body);
  res.setHeader('content-encoding', 'gzip');
  answerText(res, 200, textFormat, await compress(body, { level: 1 }));
}

function acceptsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .split(',')
    .some((part) => /^\s*(gzip|\*)\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(part));
}

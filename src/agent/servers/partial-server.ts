import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { partialContentType, partialPath } from '../../promql/index.ts';
import { readRawBody } from '../otlp/request-body.ts';
import type { PartialHandler, PartialRefusal } from '../partial/partial-handler.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { answerError, answerMethod } from './answers.ts';

export interface PartialServerOptions {
  readonly handler: PartialHandler;
  readonly metrics: SelfMetrics;
  readonly logger: Logger;
}

const maxBodyBytes = 4 * 1024 * 1024;

const statusOf: Readonly<Record<PartialRefusal, number>> = {
  unsupported: 501,
  invalid: 400,
  execution: 422,
  over_limit: 413,
  busy: 429,
  timeout: 504,
  internal: 500,
};

/**
 * `POST /api/v1/partial`: this node's share of a query. All else goes to `next`. Who may call is decided by the TLS
 * listener in front of it.
 */
export function partialHandler(options: PartialServerOptions, next: RequestListener): RequestListener {
  const { metrics, logger } = options;
  return (req, res) => {
    if ((req.url ?? '/').split('?', 1)[0] !== partialPath) return next(req, res);
    if (req.method !== 'POST') return answerMethod(res, 'POST');
    metrics.partialInflight.inc();
    serve(req, res, options)
      .catch((error: unknown) => {
        if (res.headersSent || res.destroyed) return void res.destroy();
        if (isOperatorError(error)) answerError(res, 400, 'invalid', error.message);
        else {
          logger.warn('partial answer failed', { error: errorText(error) });
          answerError(res, 500, 'internal', 'internal error');
        }
      })
      .finally(() => {
        metrics.partialInflight.dec();
        metrics.partialRequests.inc({ code: String(res.statusCode) });
      });
  };
}

async function serve(req: IncomingMessage, res: ServerResponse, options: PartialServerOptions): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => gone.abort(new Error('the asker went away')));
  const body = await readRawBody(req, maxBodyBytes);
  const outcome = await options.handler(body.toString(), gone.signal);
  if (gone.signal.aborted) return;
  if ('refusal' in outcome) return answerError(res, statusOf[outcome.refusal], outcome.refusal, outcome.message);
  res.writeHead(200, { 'content-type': partialContentType, 'content-length': outcome.bytes });
  for (const frame of outcome.frames) {
    if (gone.signal.aborted) return;
    options.metrics.partialBytes.inc(frame.length);
    if (!res.write(frame)) await once(res, 'drain', { signal: gone.signal }).catch(() => {});
  }
  res.end();
}

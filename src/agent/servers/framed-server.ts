import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter, Gauge } from 'prom-client';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { callerIn } from '../../net/caller.ts';
import type { HttpHandler } from '../../net/http/index.ts';
import { indexContentType, indexPath, partialContentType, partialPath } from '../../promql/index.ts';
import { readRawBody } from '../otlp/request-body.ts';
import type { FramedAnswer, FramedHandler, Refusal } from '../partial/admission.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { answerError, answerMethod } from './answers.ts';

/** Dependencies of an endpoint. */
export interface EndpointOptions {
  readonly handler: FramedHandler;
  readonly metrics: SelfMetrics;
  readonly logger: Logger;
}

export interface FramedServerOptions {
  readonly path: string;
  readonly contentType: string;
  readonly handler: FramedHandler;
  /** Metrics of the requests to this path. */
  readonly counts: FramedCounts;
  readonly logger: Logger;
}

/** Requests by status, requests in flight, bytes sent. */
export interface FramedCounts {
  readonly requests: Counter<'code'>;
  readonly inflight: Gauge;
  readonly bytes: Counter;
}

const maxBodyBytes = 4 * 1024 * 1024;
/** Answers up to this size are sent in one piece. */
const smallBytes = 64 * 1024;

const statusOf: Readonly<Record<Refusal, number>> = {
  unsupported: 501,
  invalid: 400,
  execution: 422,
  over_limit: 413,
  busy: 429,
  timeout: 504,
  internal: 500,
};

/**
 * A `POST` that is answered with frames, completely or not at all: shares of queries, and data of the index. All other
 * paths go to `next`. The TLS listener in front of it decides which clients may call.
 */
export function framedHandler(options: FramedServerOptions, next: HttpHandler): HttpHandler {
  const { path, counts, logger } = options;
  return (req, res) => {
    if (requestTarget(req).path !== path) return next(req, res);
    if (req.method !== 'POST') return answerMethod(res, 'POST');
    counts.inflight.inc();
    return serve(req, res, options)
      .catch((error: unknown) => {
        if (res.headersSent || res.destroyed) return void res.destroy();
        if (isOperatorError(error)) answerError(res, 400, 'invalid', error.message);
        else {
          logger.warn('a request could not be answered', { path, error: errorText(error) });
          answerError(res, 500, 'internal', 'internal error');
        }
      })
      .finally(() => {
        counts.inflight.dec();
        counts.requests.inc({ code: String(res.statusCode) });
      });
  };
}

/** `POST /api/v1/partial`: this node's share of a query. */
export function partialHandler({ handler, metrics, logger }: EndpointOptions, next: HttpHandler): HttpHandler {
  const { partialRequests: requests, partialInflight: inflight, partialBytes: bytes } = metrics;
  const counts = { requests, inflight, bytes };
  return framedHandler({ path: partialPath, contentType: partialContentType, handler, counts, logger }, next);
}

/** `POST /api/v1/index`: label names, values and sets of this node's series. */
export function indexHandler({ handler, metrics, logger }: EndpointOptions, next: HttpHandler): HttpHandler {
  const { indexRequests: requests, indexInflight: inflight, indexBytes: bytes } = metrics;
  const counts = { requests, inflight, bytes };
  return framedHandler({ path: indexPath, contentType: indexContentType, handler, counts, logger }, next);
}

async function serve(req: IncomingMessage, res: ServerResponse, options: FramedServerOptions): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => {
    if (!res.writableEnded) gone.abort(new Error('the asker went away'));
  });
  const body = await readRawBody(req, maxBodyBytes);
  const outcome = await options.handler(body.toString(), gone.signal, callerIn(req.headers));
  if ('refusal' in outcome) {
    if (!gone.signal.aborted) answerError(res, statusOf[outcome.refusal], outcome.refusal, outcome.message);
    return;
  }
  try {
    await send(res, outcome, options, gone.signal);
  } finally {
    outcome.release?.();
  }
}

async function send(
  res: ServerResponse,
  { frames, bytes }: FramedAnswer,
  options: FramedServerOptions,
  gone: AbortSignal,
): Promise<void> {
  if (gone.aborted) return;
  res.writeHead(200, { 'content-type': options.contentType, 'content-length': bytes });
  if (bytes <= smallBytes) {
    options.counts.bytes.inc(bytes);
    res.end(Buffer.concat(frames, bytes));
    return;
  }
  for (const frame of frames) {
    if (gone.aborted) return;
    options.counts.bytes.inc(frame.length);
    if (!res.write(frame)) await once(res, 'drain', { signal: gone }).catch(() => {});
  }
  res.end();
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Counter } from 'prom-client';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { callerIn } from '../../net/auth/caller.ts';
import { writePart } from '../../net/http/index.ts';
import { indexContentType, indexPath, partialContentType, partialPath } from '../../promql/index.ts';
import { readRawBody } from '../otlp/request-body.ts';
import type { FramedAnswer, FramedHandler, Refusal } from '../partial/admission.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { answerError, counted, type RequestCounts } from './answers.ts';
import type { Route } from './routes.ts';

/** Dependencies of an endpoint. */
interface EndpointOptions {
  readonly handler: FramedHandler;
  readonly metrics: SelfMetrics;
  readonly logger: Logger;
}

interface FramedOptions {
  readonly path: string;
  readonly contentType: string;
  readonly handler: FramedHandler;
  /** Metrics of the requests to this path. */
  readonly counts: FramedCounts;
  readonly logger: Logger;
}

/** Requests and the bytes sent in answer to them. */
interface FramedCounts extends RequestCounts {
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
 * A `POST` that is answered with a node's share of a query or with labels of its series, as frames, completely or not
 * at all.
 * The TLS listener in front of it decides which clients may call.
 */
function framedRoute(options: FramedOptions): Route {
  const { path, counts, logger } = options;
  const answer: Route['serve'] = (req, res) =>
    counted(
      res,
      counts,
      (gone) => serve(req, res, options, gone),
      (error) => {
        if (res.headersSent) return void res.destroy();
        if (isOperatorError(error)) return answerError(res, 400, 'invalid', error.message);
        logger.warn('a request could not be answered', { path, error: errorText(error) });
        answerError(res, 500, 'internal', 'internal error');
      },
    );
  return { path, methods: ['POST'], serve: answer };
}

/** `POST /api/v1/partial`: this node's share of a query. */
export function partialRoute({ handler, metrics, logger }: EndpointOptions): Route {
  const { partialRequests: requests, partialInflight: inflight, partialBytes: bytes } = metrics;
  const counts = { requests, inflight, bytes };
  return framedRoute({ path: partialPath, contentType: partialContentType, handler, counts, logger });
}

/** `POST /api/v1/index`: label names, values and sets of this node's series. */
export function indexRoute({ handler, metrics, logger }: EndpointOptions): Route {
  const { indexRequests: requests, indexInflight: inflight, indexBytes: bytes } = metrics;
  const counts = { requests, inflight, bytes };
  return framedRoute({ path: indexPath, contentType: indexContentType, handler, counts, logger });
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  options: FramedOptions,
  gone: AbortSignal,
): Promise<void> {
  const body = await readRawBody(req, maxBodyBytes);
  const outcome = await options.handler(body.toString(), gone, callerIn(req.headers));
  if ('refusal' in outcome) {
    if (!gone.aborted) answerError(res, statusOf[outcome.refusal], outcome.refusal, outcome.message);
    return;
  }
  try {
    await send(res, outcome, options, gone);
  } finally {
    outcome.release?.();
  }
}

async function send(
  res: ServerResponse,
  { frames, bytes }: FramedAnswer,
  options: FramedOptions,
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
    await writePart(res, frame, gone);
  }
  res.end();
}

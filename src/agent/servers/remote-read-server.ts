import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { callerIn } from '../../net/auth/caller.ts';
import { sendPart } from '../../net/http/index.ts';
import { type RemoteReadHandler, remoteReadPath } from '../../tsdb/index.ts';
import { readRawBody } from '../otlp/request-body.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { answerText, counted } from './answers.ts';
import type { Route } from './routes.ts';

export interface RemoteReadOptions {
  readonly handler: RemoteReadHandler;
  readonly metrics: SelfMetrics;
  readonly logger: Logger;
}

const maxBodyBytes = 8 * 1024 * 1024;

/** The answer for a path that the port of remote read does not have. */
export function noSuchRead(res: ServerResponse): void {
  answerText(res, 404, 'text/plain; charset=utf-8', 'not found\n');
}

/** Stock Prometheus remote read at its usual path. The TLS listener in front of it decides which clients may call. */
export function remoteReadRoute(options: RemoteReadOptions): Route {
  const { metrics, logger } = options;
  const counts = { requests: metrics.remoteReadRequests, inflight: metrics.remoteReadInflight };
  const answer: Route['serve'] = (req, res) =>
    counted(
      res,
      counts,
      (gone) => serve(req, res, options, gone),
      (error) => {
        // The head may have been sent already: then only a cut connection shows that the answer is incomplete.
        logger.warn('remote read failed', { error: errorText(error) });
        if (res.headersSent) res.destroy();
        else if (isOperatorError(error)) answerText(res, 400, 'text/plain; charset=utf-8', `${error.message}\n`);
        else answerText(res, 500, 'text/plain; charset=utf-8', 'internal error\n');
      },
    );
  return { path: remoteReadPath, methods: ['POST'], serve: answer };
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  options: RemoteReadOptions,
  gone: AbortSignal,
): Promise<void> {
  // Snappy is the protocol's own compression, which the handler decodes: the body passes through unchanged here.
  const body = await readRawBody(req, maxBodyBytes);
  const answer = await options.handler({
    headers: req.headers,
    body,
    signal: gone,
    user: callerIn(req.headers),
  });
  res.writeHead(answer.status, answer.headers);
  for await (const part of answer.body) {
    if (gone.aborted) return;
    options.metrics.remoteReadBytes.inc(part.length);
    await sendPart(res, part, gone);
  }
  res.end();
}

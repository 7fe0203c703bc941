import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { callerIn } from '../../net/caller.ts';
import type { HttpHandler } from '../../net/http/index.ts';
import { type RemoteReadHandler, remoteReadPath } from '../../tsdb/index.ts';
import { readRawBody } from '../otlp/request-body.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { answerMethod, answerText } from './answers.ts';

export interface RemoteReadOptions {
  readonly handler: RemoteReadHandler;
  readonly metrics: SelfMetrics;
  readonly logger: Logger;
}

const maxBodyBytes = 8 * 1024 * 1024;

/** Stock Prometheus remote read at its usual path. The TLS listener in front of it decides which clients may call. */
export function remoteReadHandler(options: RemoteReadOptions): HttpHandler {
  return (req, res) => {
    const { path } = requestTarget(req);
    if (path !== remoteReadPath) return answerText(res, 404, 'text/plain; charset=utf-8', 'not found\n');
    if (req.method !== 'POST') return answerMethod(res, 'POST');
    options.metrics.remoteReadInflight.inc();
    return serve(req, res, options)
      .catch((error: unknown) => {
        // The head may have been sent already: then only a cut connection shows that the answer is incomplete.
        options.logger.warn('remote read failed', { error: errorText(error) });
        if (res.headersSent) res.destroy();
        else if (isOperatorError(error)) answerText(res, 400, 'text/plain; charset=utf-8', `${error.message}\n`);
        else answerText(res, 500, 'text/plain; charset=utf-8', 'internal error\n');
      })
      .finally(() => {
        options.metrics.remoteReadInflight.dec();
        options.metrics.remoteReadRequests.inc({ code: String(res.statusCode) });
      });
  };
}

async function serve(req: IncomingMessage, res: ServerResponse, options: RemoteReadOptions): Promise<void> {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  // Snappy is the protocol's own compression, which the handler decodes: the body passes through unchanged here.
  const body = await readRawBody(req, maxBodyBytes);
  const answer = await options.handler({
    headers: req.headers,
    body,
    signal: gone.signal,
    user: callerIn(req.headers),
  });
  res.writeHead(answer.status, answer.headers);
  for await (const part of answer.body) {
    if (gone.signal.aborted) return;
    options.metrics.remoteReadBytes.inc(part.length);
    if (!res.write(part)) await once(res, 'drain', { signal: gone.signal }).catch(() => {});
  }
  res.end();
}

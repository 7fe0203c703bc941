import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOperatorError } from '../../base/errors.ts';
import type { RequestTarget } from '../../base/request-target.ts';
import { goneSignal, writePart } from '../../net/http/index.ts';
import { readBody } from '../otlp/request-body.ts';
import {
  maxRequestBytes,
  requestOfBody,
  requestOfParams,
  requestOfPath,
  type StreamMessage,
  streamPaths,
  streamQuery,
  type StreamRequest,
} from '../../stream/index.ts';
import { answerError } from './answers.ts';
import type { Route } from './routes.ts';
import { startOf } from '../spans/stream-reader.ts';
import { serveStream, type StreamOptions } from './stream-service.ts';

/**
 * `/v1/stream` as NDJSON: each line is one `span`, `flow`, `lost` or `node_status`, with `node` and `time`. The
 * parameters are in the query string (GET) or a JSON body (POST); `/v1/spans` sends only spans, `/v1/flows` only flows.
 * A reader that does not keep up loses items and receives their number. The writer of the ring buffer never waits for a
 * reader.
 */
export function streamRoutes(options: StreamOptions): Route[] {
  const answer: Route['serve'] = (req, res, target) =>
    serve(req, res, target, options).catch((error: unknown) => {
      if (res.headersSent) res.destroy();
      else if (isOperatorError(error, 'ERR_TOO_LARGE')) answerError(res, 413, 'too_large', error.message);
      else if (isOperatorError(error)) answerError(res, 400, 'bad_request', error.message);
      else answerError(res, 500, 'internal', 'internal error');
    });
  return streamPaths.map((path) => ({ path, methods: ['GET', 'POST'], serve: answer }));
}

async function serve(
  req: IncomingMessage,
  res: ServerResponse,
  target: RequestTarget,
  options: StreamOptions,
): Promise<void> {
  const asked = req.method === 'POST' ? await bodyRequest(req) : requestOfParams(target.params);
  const query = streamQuery(requestOfPath(target.path, asked), options.clock.now(), options);
  startOf(options.ring, query); // throws before the head is sent
  const gone = goneSignal(res);
  res.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  res.flushHeaders();
  const write = async (messages: readonly StreamMessage[]): Promise<void> => {
    const lines = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
    await writePart(res, lines, gone);
  };
  await serveStream(options, query, { write, gone });
  res.end();
}

async function bodyRequest(req: IncomingMessage): Promise<StreamRequest> {
  return requestOfBody(await readBody(req, { wire: maxRequestBytes, decoded: maxRequestBytes }));
}

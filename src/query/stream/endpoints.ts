import type { Express, Request, Response } from 'express';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { goneSignal, writePart } from '../../net/http/index.ts';
import {
  maxRequestBytes,
  readPath,
  requestOfBody,
  requestOfParams,
  requestOfPath,
  type StreamMessage,
  streamPaths,
  type StreamRequest,
} from '../../stream/index.ts';
import { ApiError, toApiError } from '../api/api-error.ts';
import type { RequestBody } from '../api/request-body.ts';
import { sendError, sendText } from '../api/respond.ts';
import { framesOf, requestOfFrame, sendGrpcError, sendGrpcHead, sendGrpcTrailers } from './grpc.ts';
import type { StreamCall, StreamRelay } from './relay.ts';
import type { StreamSink } from './reader-queue.ts';

export interface StreamEndpointDeps {
  readonly relay: StreamRelay;
  /**
   * Who sends a request, and the namespaces that they may see. `user` is `''` on loopback, where callers need no token.
   * Errors: ApiError.
   */
  readonly authorize: (req: Request) => Promise<{ user: string; caller: string; namespaces: StreamCall['namespaces'] }>;
  /** The body of a request of this caller. */
  readonly bodyOf: (caller: string) => RequestBody;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** A reader that accepts nothing for this long is disconnected. Units: ms. */
const stalledMs = 600_000;

/**
 * Serves spans and flows, relayed from the agents: as lines of JSON at the same paths as an agent does, and as gRPC on
 * HTTP/2. A refusal has the form of the other endpoints; in gRPC it has the equivalent status.
 */
export function useStream(app: Express, deps: StreamEndpointDeps): void {
  for (const path of streamPaths) {
    const route = app.route(path);
    const serve = (req: Request, res: Response): Promise<void> => serveLines(req, res, deps);
    // Registered before GET, which would match HEAD, too: a stream without a body is not a stream.
    route.head((_req, res) => void res.set('allow', 'GET, POST').status(405).end());
    route.get(serve).post(serve);
    route.all((_req, res) => sendText(res.set('allow', 'GET, POST'), 405, 'Method Not Allowed\n'));
  }
  app.post(readPath, (req, res) => serveGrpc(req, res, deps));
}

async function serveLines(req: Request, res: Response, deps: StreamEndpointDeps): Promise<void> {
  const { relay, authorize, bodyOf, logger } = deps;
  try {
    const who = await authorize(req);
    const target = requestTarget(req);
    const asked =
      req.method === 'POST' ? await decoded(req, bodyOf(who.caller), requestOfBody) : requestOfParams(target.params);
    const request = requestOfPath(target.path, asked);
    const run = relay.open(callOf(req, request, who, deps));
    res.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
    res.flushHeaders();
    await run(
      sinkOf(res, deps.clock, (messages) => messages.map((message) => `${JSON.stringify(message)}\n`).join('')),
    );
    res.end();
  } catch (error) {
    const known = refusalOf(error, logger);
    if (!res.destroyed) sendError(res, known);
  }
}

async function serveGrpc(req: Request, res: Response, deps: StreamEndpointDeps): Promise<void> {
  if (req.httpVersionMajor < 2 || !/^application\/grpc(\+proto)?$/.test(req.headers['content-type'] ?? '')) {
    return sendText(res, 415, 'gRPC is spoken here: HTTP/2 with content-type application/grpc\n');
  }
  const { relay, authorize, bodyOf, logger } = deps;
  try {
    const who = await authorize(req);
    const request = await decoded(req, bodyOf(who.caller), requestOfFrame);
    const run = relay.open(callOf(req, request, who, deps));
    sendGrpcHead(res);
    await run(sinkOf(res, deps.clock, framesOf));
    sendGrpcTrailers(res);
  } catch (error) {
    const known = refusalOf(error, logger);
    if (!res.destroyed) sendGrpcError(res, known);
  }
}

/** All that reach the server by a port-forward are one address, so callers without a user have no share of places. */
function callOf(
  req: Request,
  request: StreamRequest,
  { user, caller, namespaces }: Awaited<ReturnType<StreamEndpointDeps['authorize']>>,
  { authorize }: StreamEndpointDeps,
): StreamCall {
  const review = async (): Promise<StreamCall['namespaces']> => (await authorize(req)).namespaces;
  return { request, caller: user === '' ? undefined : caller, namespaces, review };
}

async function decoded(
  req: Request,
  body: RequestBody,
  decode: (bytes: Buffer) => StreamRequest,
): Promise<StreamRequest> {
  try {
    return decode(await body.read(req, maxRequestBytes));
  } finally {
    body.release();
  }
}

/** The sink of a reader's messages; `gone` aborts when the answer is closed. */
function sinkOf(
  res: Response,
  clock: Clock,
  encode: (messages: readonly StreamMessage[]) => string | Buffer,
): StreamSink {
  const gone = goneSignal(res);
  return {
    gone,
    write: async (messages) => {
      if (gone.aborted) return;
      const cancel = clock.setTimeout(() => res.destroy(), stalledMs);
      await writePart(res, encode(messages), gone);
      cancel();
    },
  };
}

function refusalOf(error: unknown, logger: Logger): ApiError {
  if (isOperatorError(error)) return new ApiError('bad_data', error.message);
  const known = toApiError(error);
  if (known.errorType === 'internal') logger.error('stream failed', { error: errorText(error) });
  return known;
}

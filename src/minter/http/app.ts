import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { BuildInfo } from '../../base/build-info.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { sourceStack } from '../../base/source-stack.ts';
import { isUndecodable, peerAddress } from '../../net/http/index.ts';
import { auditLine } from '../audit.ts';
import type { Readiness } from '../readiness.ts';
import { Refusal } from '../refusal.ts';
import { type BeginTokenTrace, noTokenTrace, type TokenTrace } from '../token-trace.ts';
import { type AuditFields, decideToken, maxBodyBytes, type TokenRouteDeps } from './token-route.ts';

const lingerMs = 500;

/**
 * Closes the connection after an answer, in two stages: our half immediately, the rest half a second later. In between,
 * further bytes are read and dropped. A connection that is cut while its request is still arriving is reset, and the
 * reset can overtake the answer: the caller would see a broken connection instead of the 413.
 * Source: RFC 9112 §9.6. Node calls `destroySoon` to close an answered connection.
 */
function closeInStages(socket: Socket, clock: Clock): void {
  socket.destroySoon = () => {
    if (socket.writable) socket.end();
    const cancel = clock.setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', cancel);
  };
}

export interface AppDeps extends TokenRouteDeps {
  build: BuildInfo;
  platformHost: string;
  readiness: Readiness;
  logger: Logger;
  /** Where audit lines go. */
  audit: (line: string) => void;
  /** Absent: no spans. */
  beginTrace?: BeginTokenTrace | undefined;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);

/** `POST /token` and `GET|HEAD /version`, and no other routes. Express' optional features are off. */
export function createApp(deps: AppDeps): Express {
  const app = express();
  for (const setting of ['x-powered-by', 'etag', 'query parser', 'trust proxy', 'view cache']) app.disable(setting);
  app.enable('case sensitive routing');
  app.enable('strict routing');
  app.use((req, res, next) => begin(deps, req, res, next));
  app.all('/token', (req, res) => answerToken(deps, req, res));
  app.get('/version', (_req, res) => answerVersion(deps, res));
  app.all('/version', (_req, res) => refuse(res, methodNotAllowed(), 'GET, HEAD'));
  app.use((_req, res) => refuse(res, new Refusal('not_found', 'path', 'there is nothing here')));
  app.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    // A path that cannot be decoded is the caller's fault. Any other error is a bug of ours; the server answers it.
    if (!isUndecodable(error)) return next(error);
    deps.logger.warn('request refused by the router', { error: errorText(error) });
    if (!res.headersSent) refuse(res, new Refusal('not_found', 'path', 'there is nothing here'));
  });
  return app;
}

function begin(deps: AppDeps, req: Request, res: Response, next: NextFunction): void {
  const start = deps.clock.monotonic();
  res.locals.requestId = randomUUID();
  res.locals.start = start;
  res.locals.clock = deps.clock;
  res.setHeader('X-Request-Id', res.locals.requestId as string);
  res.setHeader('Cache-Control', 'no-store');
  res.setHeader('X-Content-Type-Options', 'nosniff');
  const path = req.path === '/token' || req.path === '/version' ? req.path : 'other';
  const method = methods.has(req.method) ? req.method : 'other';
  res.on('close', () => {
    const code = String(res.statusCode);
    deps.metrics.httpRequests.inc({ path, method, code });
    deps.metrics.httpSeconds.observe({ path, code }, (deps.clock.monotonic() - start) / 1000);
  });
  res.locals.draining = () => deps.readiness.draining;
  next();
}

async function answerToken(deps: AppDeps, req: Request, res: Response): Promise<void> {
  const audit: AuditFields = { client_ip: peerAddress(req.socket) };
  const incoming = req.headers['x-request-id'];
  if (typeof incoming === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(incoming)) audit.caller_request_id = incoming;
  const spans = deps.beginTrace?.() ?? noTokenTrace;
  try {
    if (req.method !== 'POST') throw methodNotAllowed();
    const token = await decideToken(req, deps, audit, spans);
    record(deps, res, { audit, spans, status: 200 }, 'allow', 'ok', 'minted');
    res.status(200).setHeader('Content-Type', 'text/plain; charset=utf-8');
    finish(res, token);
  } catch (error) {
    const refusal = asRefusal(deps, error);
    if (refusal.status >= 500) deps.readiness.mintFailed(refusal.reason);
    deps.metrics.denials.inc({ reason: refusal.reason });
    const { status } = refusal;
    record(deps, res, { audit, spans, status }, status >= 500 ? 'error' : 'deny', refusal.answer, refusal.reason);
    refuse(res, refusal, 'POST');
  }
}

function asRefusal(deps: AppDeps, error: unknown): Refusal {
  if (error instanceof Refusal) {
    if (error.status >= 500) deps.logger.warn('mint failed', { reason: error.reason, error: errorText(error) });
    return error;
  }
  deps.logger.error('unexpected error', {
    error: errorText(error),
    stack: sourceStack(error),
  });
  return new Refusal('internal_error', 'bug', 'the service failed', { cause: error });
}

function record(
  deps: AppDeps,
  res: Response,
  { audit, spans, status }: { audit: AuditFields; spans: TokenTrace; status: number },
  decision: 'allow' | 'deny' | 'error',
  code: string,
  reason: string,
): void {
  const requestId = res.locals.requestId as string;
  deps.metrics.mints.inc({ result: decision, code });
  spans.end({ status, decision, code, reason, requestId });
  deps.audit(
    auditLine({
      ts: new Date(deps.clock.now()).toISOString(),
      request_id: requestId,
      decision,
      code,
      reason,
      ...audit,
      duration_ms: Math.round((deps.clock.monotonic() - (res.locals.start as number)) * 10) / 10,
    }),
  );
}

function answerVersion(deps: AppDeps, res: Response): void {
  const { ready } = deps.readiness;
  const body = { ...deps.build, platform: deps.platformHost, ready };
  res.status(ready ? 200 : 503).setHeader('Content-Type', 'application/json; charset=utf-8');
  finish(res, JSON.stringify(body));
}

function methodNotAllowed(): Refusal {
  return new Refusal('method_not_allowed', 'method', 'this method is not allowed here');
}

function refuse(res: Response, refusal: Refusal, allow?: string): void {
  if (refusal.status === 401) res.setHeader('WWW-Authenticate', 'X-OIDC-Token');
  if (refusal.status === 405 && allow) res.setHeader('Allow', allow);
  if (refusal.retryAfterSeconds !== undefined) res.setHeader('Retry-After', String(refusal.retryAfterSeconds));
  const body = { error: refusal.answer, message: refusal.message, request_id: res.locals.requestId as string };
  res.status(refusal.status).setHeader('Content-Type', 'application/json; charset=utf-8');
  finish(res, JSON.stringify(body));
}

/**
 * Sends the answer. The connection is closed after it when the process is ending, or when a body of unknown or large
 * length was left unread. A short body is read and dropped, so that a refusal does not cost its caller a new
 * connection.
 */
function finish(res: Response, body: string): void {
  const draining = (res.locals.draining as () => boolean)();
  const declared = Number(res.req.headers['content-length'] ?? (res.req.headers['transfer-encoding'] ? Infinity : 0));
  const unread = !res.req.complete && !(declared <= maxBodyBytes);
  if (unread) closeInStages(res.req.socket, res.locals.clock as Clock);
  if (draining || unread) res.setHeader('Connection', 'close');
  res.end(body);
}

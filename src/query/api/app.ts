import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import { promqlReadPath } from '../../api/rights.ts';
import { errorText } from '../../base/errors.ts';
import { LinkedAbort } from '../../base/linked-abort.ts';
import type { MemoryAccount } from '../../base/memory-pool.ts';
import { isUndecodable } from '../../net/http/index.ts';
import type { NamespaceAccess } from '../../net/auth/namespace-access.ts';
import type { TokenAuth } from '../../net/auth/token-auth.ts';
import type { QueryMetrics } from '../metrics.ts';
import { exemplars } from '../routes/exemplar-handler.ts';
import { federate } from '../routes/federate.ts';
import * as queries from '../routes/handlers.ts';
import * as language from '../routes/language-handlers.ts';
import * as metadata from '../routes/metadata-handlers.ts';
import { explain } from '../routes/explain-handler.ts';
import * as page from '../routes/page-handlers.ts';
import { servePage } from '../routes/page.ts';
import { remoteRead } from '../routes/remote-read.ts';
import * as lists from '../routes/series-handlers.ts';
import * as status from '../routes/status-handlers.ts';
import { topology } from '../routes/topology-handler.ts';
import { useStream } from '../stream/endpoints.ts';
import type { StreamRelay } from '../stream/relay.ts';
import { ApiError, toApiError } from './api-error.ts';
import { type Call, callerOf, type Handler, type HandlerDeps } from './call.ts';
import { readParams } from './params.ts';
import type { RequestBody } from './request-body.ts';
import { sendError, sendText } from './respond.ts';

export interface AppDeps extends HandlerDeps {
  readonly auth: Pick<TokenAuth, 'decide'>;
  readonly metrics: QueryMetrics;
  readonly ready: () => boolean;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
  /** Folder with the built query page. Without one, `/` is answered with 404. */
  readonly pageDir?: string | undefined;
  /** Restricts users to the namespaces whose pods they may read. Default: users see all namespaces. */
  readonly access?: Pick<NamespaceAccess, 'visible'> | undefined;
  /** Spans and flows of all agents. */
  readonly relay: StreamRelay;
}

type Methods = 'GET' | 'GET, POST' | 'POST';

/**
 * Path, methods and handler, in the order in which they are tried. The paths that accept a form by POST are those of
 * Prometheus.
 */
const routes: readonly [path: string, methods: Methods, handler: Handler][] = [
  ['/api/v1/query', 'GET, POST', queries.query],
  ['/api/v1/query_range', 'GET, POST', queries.queryRange],
  ['/api/v1/query_exemplars', 'GET, POST', exemplars],
  ['/api/v1/format_query', 'GET, POST', language.formatQuery],
  ['/api/v1/parse_query', 'GET, POST', language.parseQuery],
  ['/api/v1/series', 'GET, POST', lists.series],
  ['/api/v1/labels', 'GET, POST', lists.labels],
  ['/api/v1/label/:name/values', 'GET', lists.values],
  ['/api/v1/metadata', 'GET', metadata.metadata],
  ['/api/v1/targets', 'GET', status.targets],
  ['/api/v1/targets/metadata', 'GET', metadata.targetMetadata],
  ['/api/v1/scrape_pools', 'GET', status.scrapePools],
  ['/api/v1/rules', 'GET', status.rules],
  ['/api/v1/alerts', 'GET', status.alerts],
  ['/api/v1/alertmanagers', 'GET', status.alertmanagers],
  ['/api/v1/status/buildinfo', 'GET', status.buildinfo],
  ['/api/v1/status/runtimeinfo', 'GET', status.runtimeinfo],
  ['/api/v1/status/flags', 'GET', status.statusFlags],
  ['/api/v1/status/config', 'GET', status.config],
  ['/api/v1/status/tsdb', 'GET', status.tsdb],
  ['/api/v1/status/tsdb/blocks', 'GET', status.blocks],
  ['/api/v1/status/walreplay', 'GET', status.walReplay],
  ['/api/v1/notifications', 'GET', status.notifications],
  ['/api/v1/features', 'GET', status.featureList],
  ['/api/v1/services', 'GET', page.services],
  ['/api/v1/objects', 'GET', page.objects],
  ['/api/v1/explain', 'GET', explain],
  ['/api/v1/topology', 'GET', topology],
  ['/api/v1/read', 'POST', remoteRead],
  ['/federate', 'GET', federate],
];

/** The query API, health paths and page as one request handler, for HTTP/1.1 or for HTTP/2. */
export function createApp(deps: AppDeps, protocol: Protocol = 'http1'): Express {
  const app = express();
  if (protocol === 'http2') useHttp2(app);
  app.disable('x-powered-by');
  app.disable('etag');
  for (const [path, methods, handler] of routes) {
    // The path label of metrics omits `/api/v1`, as it did when there were no other paths.
    const name = path.replace(/^\/api\/v1/, '');
    const serve = (req: Request, res: Response): Promise<void> => answer(req, res, name, handler, deps);
    const route = app.route(path);
    if (methods !== 'POST') route.get(serve);
    if (methods !== 'GET') route.post(serve);
    route.all((_req, res) => sendText(res.set('allow', methods), 405, 'Method Not Allowed\n'));
  }
  const { relay, clock, logger, bodyOf } = deps;
  useStream(app, { relay, clock, logger, bodyOf, authorize: (req) => authorize(req, deps) });
  app.get('/-/healthy', (_req, res) => sendText(res, 200, 'svc-query is healthy.\n'));
  app.get('/-/ready', (_req, res) => {
    const ready = deps.ready();
    sendText(
      res,
      ready ? 200 : 503,
      ready ? 'svc-query is ready.\n' : 'svc-query is not ready: the list of agents is not complete.\n',
    );
  });
  if (deps.pageDir !== undefined) servePage(app, deps.pageDir);
  app.use((_req, res) => sendText(res, 404, '404 page not found\n'));
  app.use((error: unknown, _req: Request, res: Response, next: NextFunction) => {
    // A path that cannot be decoded is the client's error. Any other error is a bug and goes to the server's handler.
    if (isUndecodable(error)) sendError(res, new ApiError('bad_data', errorText(error)));
    else next(error);
  });
  return app;
}

/** Created once, because each new error captures its stack, which takes time. */
const answered = new Error('the request has been answered');

async function answer(req: Request, res: Response, path: string, handler: Handler, deps: AppDeps): Promise<void> {
  const started = deps.clock.monotonic();
  const ended = new LinkedAbort(deps.stopping);
  res.once('close', () => {
    if (!res.writableEnded) ended.abort(new Error('client went away'));
  });
  let body: RequestBody | undefined;
  let memory: MemoryAccount | undefined;
  try {
    const { user, caller, identity, namespaces } = await authorize(req, deps);
    body = deps.bodyOf(caller);
    const params = await readParams(req, body);
    memory = deps.runner.openMemory(caller, () => res.destroy());
    const label = typeof req.params['name'] === 'string' ? { label: req.params['name'] } : {};
    const { signal } = ended;
    await handler({ req, res, params, body, signal, user, identity, namespaces, memory, ...label }, deps);
  } catch (error) {
    const isOver = ended.signal.aborted && error === ended.signal.reason;
    const known = isOver ? new ApiError('canceled', 'the request was cancelled') : toApiError(error);
    if (known.errorType === 'internal') deps.logger.error('request failed', { path, error: errorText(error) });
    sendError(res, known);
  } finally {
    // A request may run several queries in parallel. When one fails, this abort ends the others.
    ended.abort(answered);
    memory?.close();
    body?.release();
    const seconds = (deps.clock.monotonic() - started) / 1000;
    deps.metrics.observe(
      path,
      res.statusCode,
      seconds,
      res.getHeader('cache-control') === 'no-store' && res.statusCode === 200,
    );
  }
}

/** Who sends a request; `caller` is the key for shares of what all requests have. */
type Caller = Pick<Call, 'user' | 'identity' | 'namespaces'> & { readonly caller: string };

/**
 * Checks the one right for all of the API, `svc-promql-reader`, then determines which namespaces the user may see.
 * Errors: ApiError.
 */
async function authorize(req: Request, deps: AppDeps): Promise<Caller> {
  const decision = await deps.auth.decide(req, 'get', promqlReadPath);
  if (!decision.allowed) {
    const types = {
      401: 'unauthorized',
      403: 'forbidden',
      429: 'too_many_requests',
      503: 'unavailable',
    } as const;
    throw new ApiError(types[decision.status], decision.message);
  }
  const { user: identity } = decision;
  const user = identity?.username ?? '';
  const caller = callerOf({ req, user });
  if (identity === undefined || deps.access === undefined) return { user, caller, identity, namespaces: undefined };
  try {
    return { user, caller, identity, namespaces: await deps.access.visible(identity) };
  } catch (error) {
    deps.logger.warn('namespaces could not be reviewed', { user, error: errorText(error) });
    throw new ApiError('unavailable', 'the namespaces you may see could not be reviewed by the API server; try again');
  }
}

type Protocol = 'http1' | 'http2';

/**
 * Makes an application accept the requests of HTTP/2's compatibility layer. Express sets the prototype of every request
 * to its own, which extends HTTP/1's; this function puts Express's methods on HTTP/2's prototype instead.
 */
function useHttp2(app: Express): void {
  const own = app as unknown as { request: object; response: object };
  own.request = onPrototype(express.request, Http2ServerRequest.prototype, app);
  own.response = onPrototype(express.response, Http2ServerResponse.prototype, app);
}

function onPrototype(methods: object, prototype: object, app: Express): object {
  const copy = Object.create(prototype, Object.getOwnPropertyDescriptors(methods)) as object;
  return Object.create(copy, { app: { configurable: true, enumerable: true, writable: true, value: app } }) as object;
}

import express from 'express';
import type { Express, Request, Response } from 'express';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { TokenAuth } from '../../net/token-auth.ts';
import type { QueryMetrics } from '../metrics.ts';
import { ApiError, toApiError } from './api-error.ts';
import * as handlers from './handlers.ts';
import type { Handler, HandlerDeps } from './handlers.ts';
import { readParams } from './params.ts';
import { servePage } from './page.ts';
import { sendError, sendText } from './respond.ts';
import { promqlReadPath } from '../../api/rights.ts';

export interface AppDeps extends HandlerDeps {
  readonly auth: Pick<TokenAuth, 'decide'>;
  readonly logger: Logger;
  readonly metrics: QueryMetrics;
  readonly ready: () => boolean;
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal;
  /** Folder with the built query page; without one `/` is 404. */
  readonly pageDir?: string | undefined;
}

/** Path, whether POST forms are taken, and what answers. Label values is GET only, as in Prometheus. */
const routes: readonly [path: string, post: boolean, handler: Handler][] = [
  ['/query', true, handlers.query],
  ['/query_range', true, handlers.queryRange],
  ['/query_exemplars', true, handlers.exemplars],
  ['/format_query', true, handlers.formatQuery],
  ['/series', true, handlers.series],
  ['/labels', true, handlers.labels],
  ['/label/:name/values', false, handlers.values],
  ['/metadata', false, handlers.metadata],
  ['/status/buildinfo', false, handlers.buildinfo],
  ['/status/flags', false, handlers.statusFlags],
];

/** The query API, health paths and page as one request handler. */
export function createApp(deps: AppDeps): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.get('/-/healthy', (_req, res) => sendText(res, 200, 'svc-query is healthy.\n'));
  app.get('/-/ready', (_req, res) => {
    const ready = deps.ready();
    sendText(
      res,
      ready ? 200 : 503,
      ready ? 'svc-query is ready.\n' : 'svc-query is not ready: the list of agents is not complete.\n',
    );
  });
  for (const [path, post, handler] of routes) {
    const serve = (req: Request, res: Response): void => void answer(req, res, path, handler, deps);
    const route = app.route(`/api/v1${path}`).get(serve);
    if (post) route.post(serve);
    route.all((_req, res) => sendText(res.set('allow', post ? 'GET, POST' : 'GET'), 405, 'Method Not Allowed\n'));
  }
  if (deps.pageDir !== undefined) servePage(app, deps.pageDir);
  app.use((_req, res) => sendText(res, 404, '404 page not found\n'));
  app.use((error: unknown, _req: Request, res: Response, _next: unknown) => {
    // Only a path that cannot be decoded comes here: handlers answer for themselves.
    sendError(res, new ApiError('bad_data', errorText(error)));
  });
  return app;
}

async function answer(req: Request, res: Response, path: string, handler: Handler, deps: AppDeps): Promise<void> {
  const started = deps.clock.monotonic();
  const gone = new AbortController();
  res.once('close', () => gone.abort(new Error('client went away')));
  try {
    await authorize(req, deps);
    const params = await readParams(req);
    const signal = AbortSignal.any([gone.signal, deps.stopping]);
    const label = typeof req.params['name'] === 'string' ? { label: req.params['name'] } : {};
    await handler({ req, res, params, signal, ...label }, deps);
  } catch (error) {
    const known = toApiError(error);
    if (known.errorType === 'internal') deps.logger.error('request failed', { path, error: errorText(error) });
    sendError(res, known);
  } finally {
    const seconds = (deps.clock.monotonic() - started) / 1000;
    deps.metrics.observe(
      path,
      res.statusCode,
      seconds,
      res.getHeader('cache-control') === 'no-store' && res.statusCode === 200,
    );
  }
}

/** One right for all of the API: `svc-promql-reader`. Errors: ApiError. */
async function authorize(req: Request, deps: AppDeps): Promise<void> {
  const decision = await deps.auth.decide(req, 'get', promqlReadPath);
  if (decision.allowed) return;
  const types = { 401: 'unauthorized', 403: 'forbidden', 503: 'unavailable' } as const;
  throw new ApiError(types[decision.status], decision.message);
}

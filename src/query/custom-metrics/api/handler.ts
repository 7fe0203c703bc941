import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../../base/clock.ts';
import { errorText } from '../../../base/errors.ts';
import type { Logger } from '../../../base/logger.ts';
import { requestTarget, type RequestTarget } from '../../../base/request-target.ts';
import type { HttpHandler } from '../../../net/http/index.ts';
import type { Access } from '../auth/access.ts';
import type { CustomMetricsMeter } from '../metrics.ts';
import { refusePassedOn } from '../fallback/passed-on.ts';
import type { SecondAdapter } from '../fallback/second-adapter.ts';
import type { MetricService } from '../values/metric-service.ts';
import { discoveryDocument, type Offer } from './discovery.ts';
import { openApiDocument } from './openapi.ts';
import { parseValuePath, type ValuePath } from './paths.ts';
import { notReady as tryAgain, pathNotFound, StatusError } from './status-error.ts';

export interface HandlerOptions {
  readonly access: Pick<Access, 'user' | 'check'>;
  readonly service: Pick<MetricService, 'custom' | 'external' | 'knows'>;
  /** The second adapter, which is asked for metrics that the service does not know. */
  readonly fallback?: Pick<SecondAdapter, 'values'> | undefined;
  readonly offer: () => Offer;
  /** True during shutdown, when readiness fails; requests are still answered. */
  readonly draining?: () => boolean;
  /** Why the server is not ready; undefined when it is. */
  readonly notReady: () => string | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly meter: CustomMetricsMeter;
}

interface Answer {
  readonly code: number;
  readonly body: unknown;
  readonly type?: string;
  readonly degraded?: boolean;
  readonly closes?: boolean;
}

/** The API for autoscalers as one request handler. */
export function createCustomMetricsHandler(options: HandlerOptions): HttpHandler {
  return (req, res) => serve(req, res, options);
}

async function serve(req: IncomingMessage, res: ServerResponse, options: HandlerOptions): Promise<void> {
  const started = options.clock.monotonic();
  const target = requestTarget(req);
  let api = 'other';
  let answer: Answer;
  try {
    const path = valuePath(target.path);
    if (path) api = path.kind === 'elsewhere' ? 'custom' : path.kind;
    answer = await respond(req, target, path, options);
  } catch (error) {
    const known = error instanceof StatusError ? error : new StatusError(500, 'InternalError', 'internal error');
    if (known !== error) options.logger.error('request failed', { path: target.path, error: errorText(error) });
    answer = { code: known.code, body: known.body, closes: known.closes };
  }
  send(res, answer);
  options.meter.request(api, answer.code, (options.clock.monotonic() - started) / 1000);
}

function valuePath(path: string): ValuePath | undefined {
  try {
    return parseValuePath(path);
  } catch {
    return undefined;
  }
}

async function respond(
  req: IncomingMessage,
  target: RequestTarget,
  path: ValuePath | undefined,
  { access, service, fallback, offer, draining, notReady, version }: HandlerOptions,
): Promise<Answer> {
  const { path: pathname, search, params } = target;
  if (req.method !== 'GET' && req.method !== 'HEAD') {
    throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
  }
  if (pathname === '/healthz' || pathname === '/livez') return { code: 200, body: 'ok', type: 'text/plain' };
  if (pathname === '/readyz') {
    const reason = draining?.() ? 'shutting down' : notReady();
    return reason === undefined
      ? { code: 200, body: 'ok', type: 'text/plain' }
      : { code: 503, body: `not ready: ${reason}\n`, type: 'text/plain' };
  }
  refusePassedOn(req.headers);
  const user = await access.user(req);
  const offered = offer();
  const isOff = path?.kind === 'external' ? !offered.external : path?.kind === 'elsewhere' && !fallback;
  if (!path || isOff) {
    await access.check(user, { path: pathname });
    return documentAt(pathname, req.headers.accept ?? '', offered, version);
  }
  await access.check(user, path.attributes);
  if (path.kind === 'elsewhere' || (fallback && !service.knows(path))) {
    // Before this server is ready, an unknown metric may still turn out to be ours.
    const reason = notReady();
    if (reason !== undefined) throw tryAgain(reason);
    return { code: 200, body: await fallback!.values(path, { pathname, search }) };
  }
  const labelSelector = params.get('labelSelector') ?? undefined;
  const metricLabelSelector = params.get('metricLabelSelector') ?? undefined;
  const { body, degraded } = await (path.kind === 'custom'
    ? service.custom(path, { labelSelector, metricLabelSelector })
    : service.external(path, labelSelector));
  return { code: 200, body, degraded };
}

function documentAt(path: string, accept: string, offered: Offer, version: string): Answer {
  const bare = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const document = discoveryDocument(bare, accept, offered);
  if (document) return { code: 200, ...document };
  if (bare === '/version') {
    const [major = '0', minor = '0'] = version.split('.');
    return { code: 200, body: { major, minor, gitVersion: `v${version}`, platform: `linux/${process.arch}` } };
  }
  const openApi = openApiDocument(bare, version, offered.external !== undefined);
  if (openApi !== undefined) return { code: 200, body: openApi };
  throw pathNotFound();
}

function send(res: ServerResponse, { code, body, type = 'application/json', degraded, closes }: Answer): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  res.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'x-content-type-options': 'nosniff',
    'cache-control': degraded || code === 503 ? 'no-store' : 'no-cache, private',
    ...(closes ? { connection: 'close' } : {}),
  });
  res.end(text);
}

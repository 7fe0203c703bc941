import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestTarget, type RequestTarget } from '../../base/request-target.ts';
import type { HttpHandler } from '../../net/http/index.ts';
import { answerError, answerMethod } from './answers.ts';

/** One path of a listener. */
export interface Route {
  /** A whole path, or a prefix of paths when it ends in `/`. */
  readonly path: string;
  /** The methods that it serves; others get 405. Undefined: the handler decides. */
  readonly methods?: readonly string[];
  readonly serve: (req: IncomingMessage, res: ServerResponse, target: RequestTarget) => void | Promise<void>;
}

/** A handler that serves these routes. A path of none of them gets 404; a whole path takes precedence over a prefix. */
export function routed(routes: readonly Route[], notFound: (res: ServerResponse) => void = noSuchPath): HttpHandler {
  const whole = new Map(routes.filter(({ path }) => !path.endsWith('/')).map((route) => [route.path, route]));
  const below = routes.filter(({ path }) => path.endsWith('/'));
  return (req, res) => {
    const target = requestTarget(req);
    const route = whole.get(target.path) ?? below.find(({ path }) => target.path.startsWith(path));
    if (!route) return notFound(res);
    const { methods, serve } = route;
    if (methods && !methods.includes(req.method ?? '')) return answerMethod(res, methods.join(', '));
    return serve(req, res, target);
  };
}

function noSuchPath(res: ServerResponse): void {
  answerError(res, 404, 'not_found', 'no such path');
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpHandler } from './door.ts';

type Application = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => unknown;

/**
 * An Express application as a handler: errors of its routes, and requests without a route, go to the common entry of
 * our servers (`Door`) instead of Express' own last handler, which would send the stack to the caller.
 */
export function expressHandler(app: Application): HttpHandler {
  return (req, res) =>
    new Promise<void>((resolve, reject) => {
      res.once('close', resolve);
      app(req, res, (error) => reject(error ?? new Error('no route answered')));
    });
}

/** True for the error that Express' router throws for a path with a broken percent escape. */
export function isUndecodable(error: unknown): boolean {
  return error instanceof URIError && (error as { status?: number }).status === 400;
}

import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '../api/status-error.ts';

/**
 * Marks requests that a query server forwards to another adapter, so that two query servers cannot forward a request to
 * each other for ever.
 */
export const fallbackHeader = 'x-svc-passed-on';

/** Refuses a request that a query server forwarded. Errors: StatusError 508. */
export function refusePassedOn(headers: IncomingHttpHeaders): void {
  if (headers[fallbackHeader] === undefined) return;
  throw new StatusError(
    508,
    'LoopDetected',
    'a query server passed this request on: its --custom-metrics-fallback leads to a query server, not to a second adapter',
  );
}

/**
 * Whether another server reads a path as we do: a server that decodes a path before it splits it would see segments
 * other than the authorized ones.
 */
export function isPlainPath(pathname: string): boolean {
  return pathname
    .slice(1)
    .split('/')
    .map(decodeURIComponent)
    .every((segment) => !/^\.{0,2}$|[/\\%?#\p{Cc}]/u.test(segment));
}

import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '../api/status-error.ts';

/** Marks what a query server asks of another adapter, so that no two pass a question to and fro. */
export const fallbackHeader = 'x-svc-passed-on';

/** Refuses what a query server passed on. Errors: StatusError 508. */
export function refusePassedOn(headers: IncomingHttpHeaders): void {
  if (headers[fallbackHeader] === undefined) return;
  throw new StatusError(
    508,
    'LoopDetected',
    'a query server passed this request on: its --custom-metrics-fallback leads to a query server, not to a second adapter',
  );
}

/**
 * Whether a path means to another server what it means here: one that decodes a path before it takes it apart would see
 * other segments in these than those that were authorized.
 */
export function isPlainPath(pathname: string): boolean {
  return pathname
    .slice(1)
    .split('/')
    .map(decodeURIComponent)
    .every((segment) => !/^\.{0,2}$|[/\\%?#\p{Cc}]/u.test(segment));
}

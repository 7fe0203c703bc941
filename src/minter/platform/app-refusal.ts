import type { PlatformAnswer } from './platform-client.ts';

/** What to say of an answer that `isAppUnknown`. */
export const appUnknown = 'the platform knows no App with this ID';

/**
 * Whether the platform knows no App with the ID that signed the request. GitHub then answers 404 on every route, and
 * only the message tells it from any other 404. Source: probot/probot#1655.
 */
export function isAppUnknown({ status, data }: PlatformAnswer): boolean {
  return status === 404 && (data as { message?: unknown } | undefined)?.message === 'Integration not found';
}

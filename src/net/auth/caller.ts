import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Names the user on whose behalf the query server calls an agent: the agent shares its time between users. */
const callerHeader = 'x-svc-caller';
const anyone = 'anyone';

/** The header that names a caller by a hash, so that the user's name does not leave the query server. */
export function callerHeaders(caller: string): Readonly<Record<string, string>> {
  return { [callerHeader]: createHash('sha256').update(caller).digest('hex').slice(0, 16) };
}

/** The caller that a request names. All requests without a valid name count as one caller. */
export function callerIn(headers: IncomingHttpHeaders): string {
  const value = headers[callerHeader];
  return typeof value === 'string' && /^[0-9a-f]{16}$/.test(value) ? value : anyone;
}

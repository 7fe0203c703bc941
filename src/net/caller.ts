import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** For whom the query server asks an agent, so that the agent shares its time between those who ask. */
const callerHeader = 'x-svc-caller';
const anyone = 'anyone';

/** The header for a caller; its name does not leave the query server. */
export function callerHeaders(caller: string): Readonly<Record<string, string>> {
  return { [callerHeader]: createHash('sha256').update(caller).digest('hex').slice(0, 16) };
}

/** The caller that a request names. All requests that name none, or none that we make, are of one. */
export function callerIn(headers: IncomingHttpHeaders): string {
  const value = headers[callerHeader];
  return typeof value === 'string' && /^[0-9a-f]{16}$/.test(value) ? value : anyone;
}

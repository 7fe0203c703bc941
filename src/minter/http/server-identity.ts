import { createSecureContext } from 'node:tls';
import type { Server } from 'node:https';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { pollUntilAborted } from '../../net/tls-material.ts';

/** PEM texts of a Secret of type TLS; unlike our own identities it need not contain a CA. */
export interface ServerIdentity {
  cert: string;
  key: string;
}

/** Reads `tls.crt` and `tls.key`. Errors: ERR_TLS_MATERIAL when they are absent or do not match. */
export async function readServerIdentity(dir: string): Promise<ServerIdentity> {
  try {
    const [cert, key] = await Promise.all(['tls.crt', 'tls.key'].map((name) => readFile(join(dir, name), 'utf8')));
    createSecureContext({ cert, key });
    return { cert: cert!, key: key! };
  } catch (cause) {
    throw new OperatorError('ERR_TLS_MATERIAL', `TLS_DIR: tls.crt and tls.key cannot be used: ${errorText(cause)}`, {
      cause,
    });
  }
}

/** Follows a rotation without dropping connections; a mismatched pair is logged and the last good one stays. */
export function followServerIdentity(
  dir: string,
  server: Server,
  first: ServerIdentity,
  deps: { clock: Clock; logger: Logger; signal: AbortSignal },
): void {
  let current = first;
  const poll = async (): Promise<void> => {
    try {
      const next = await readServerIdentity(dir);
      if (next.cert === current.cert && next.key === current.key) return;
      current = next;
      server.setSecureContext(next);
      deps.logger.info('certificate reloaded');
    } catch (error) {
      deps.logger.warn('certificate not reloaded, the last good one stays', { error: errorText(error) });
    }
  };
  pollUntilAborted(deps, poll);
}

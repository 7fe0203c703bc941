import type { Server } from 'node:net';
import { OperatorError } from '../base/errors.ts';

const reasons: Record<string, string> = {
  EADDRINUSE: 'address already in use',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'cannot assign requested address',
  ENOTFOUND: 'no such host',
};

/**
 * The error for a port that cannot be bound. Users can search for its message, e.g. `scrape listen 0.0.0.0:9090:
 * address already in use`.
 */
export function listenError(name: string, host: string, port: number, cause: unknown): OperatorError {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  const reason = (code && reasons[code]) ?? (cause instanceof Error ? cause.message : String(cause));
  const shown = host.includes(':') ? `[${host}]` : host;
  return new OperatorError('ERR_LISTEN', `${name} listen ${shown}:${port}: ${reason}`, { cause });
}

/**
 * Binds a server and resolves with its port, which the system chooses when `port` is 0.
 * Errors: ERR_LISTEN whose message is `<name> listen <host>:<port>: <reason>`.
 */
export function listen(name: string, server: Server, address: { host: string; port: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (cause: Error): void => reject(listenError(name, address.host, address.port, cause));
    server.once('error', onError);
    server.listen({ host: address.host, port: address.port }, () => {
      server.off('error', onError);
      const bound = server.address();
      resolve(typeof bound === 'object' && bound ? bound.port : address.port);
    });
  });
}

interface Closable {
  close(callback?: (error?: Error) => void): unknown;
  closeIdleConnections?(): void;
  closeAllConnections?(): void;
}

const sweepMs = 50;

/** Stops accepting, lets requests in flight finish for `graceMs`, then cuts the rest. Always resolves. */
export function closeServer(server: Closable, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections?.(), graceMs);
    // A kept-alive connection is idle only after its request has been answered.
    const sweep = setInterval(() => server.closeIdleConnections?.(), sweepMs);
    server.close(() => {
      clearTimeout(cut);
      clearInterval(sweep);
      resolve();
    });
    server.closeIdleConnections?.();
  });
}

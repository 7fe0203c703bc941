import type { AddressInfo, Server } from 'node:net';
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

/** The system has no IPv6. */
const withoutIpv6 = ['EAFNOSUPPORT', 'EADDRNOTAVAIL'];

/**
 * Binds a server and resolves with its port, which the system chooses when `port` is 0. The host `::` stands for every
 * address of IPv6 and IPv4; where IPv6 is switched off, for every address of IPv4.
 * Errors: ERR_LISTEN whose message is `<name> listen <host>:<port>: <reason>`.
 */
export async function listen(name: string, server: Server, address: { host: string; port: number }): Promise<number> {
  const { host, port } = address;
  try {
    return await bind(server, host, port);
  } catch (cause) {
    const { code = '' } = cause as NodeJS.ErrnoException;
    if (host === '::' && withoutIpv6.includes(code)) return listen(name, server, { host: '0.0.0.0', port });
    throw listenError(name, host, port, cause);
  }
}

/** The address that a server listens on, which is not always the one that was asked for. */
export function boundAddress(server: Server): string {
  return (server.address() as AddressInfo).address;
}

function bind(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const settle = (cause?: Error): void => {
      server.off('error', settle);
      server.off('listening', settle);
      if (cause) reject(cause);
      else resolve((server.address() as AddressInfo).port);
    };
    server.once('error', settle);
    server.once('listening', settle);
    server.listen({ host, port });
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

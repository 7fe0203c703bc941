import { connect, type Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';

/** The identity of a caller: a certificate of the product's CA, a token, or no credentials. */
export interface Identity {
  readonly name: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

/** One listener of one process. */
export interface Target {
  readonly process: string;
  readonly listener: string;
  readonly port: number;
  /** Absent: plain TCP. `ca` is trusted for the server's certificate. */
  readonly tls?: { readonly ca: string; readonly servername: string };
  /** The listener speaks HTTP/2: by ALPN with TLS, from the first byte without TLS. */
  readonly h2?: boolean;
  /** The listener does not speak HTTP/1.1. */
  readonly h2Only?: boolean;
}

/** Attackers call from this address. Callers that must be answered during an attack call from 127.0.0.1. */
export const attackerAddress = '127.0.0.66';

export interface Line {
  readonly socket: Socket;
  /** The bytes that were received so far, one character a byte. */
  readonly text: () => string;
  readonly closed: Promise<void>;
}

/** Opens a connection and ignores its errors. Resolves when bytes can be sent, or when the connection is closed. */
export async function callLine(
  target: Target,
  identity: Identity,
  options: { from?: string; alpn?: 'h2' | 'http/1.1' } = {},
): Promise<Line> {
  const address = { host: '127.0.0.1', port: target.port, localAddress: options.from ?? attackerAddress };
  const raw = connect(address);
  raw.on('error', () => {});
  const { tls } = target;
  const socket = tls
    ? tlsConnect({
        socket: raw,
        ca: tls.ca,
        servername: tls.servername,
        checkServerIdentity: () => undefined,
        ...(identity.cert ? { cert: identity.cert, key: identity.key! } : {}),
        ...(options.alpn ? { ALPNProtocols: [options.alpn] } : {}),
      })
    : raw;
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => {
    if (text.length < 1_000_000) text += part;
  });
  const closed = new Promise<void>((resolve) => {
    socket.on('error', () => {}).on('close', () => resolve());
    raw.on('close', () => resolve());
  });
  const open = new Promise<void>((resolve) => socket.once(tls ? 'secureConnect' : 'connect', () => resolve()));
  await Promise.race([open, closed]);
  return { socket, text: () => text, closed };
}

/** Status of the first answer on a connection, 0 without one. */
export function statusOf(line: Line): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(line.text())?.[1] ?? 0);
}

/**
 * Sends bytes, waits until an answer came, the connection ended or `ms` passed, and then ends the connection. Returns
 * the answer's status.
 */
export async function say(line: Line, bytes: string | Buffer, ms: number): Promise<number> {
  if (!line.socket.destroyed) line.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  await Promise.race([
    line.closed,
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      const done = (): void => {
        clearTimeout(timer);
        resolve();
      };
      line.socket.on('data', () => statusOf(line) !== 0 && done());
      void line.closed.then(done);
    }),
  ]);
  const status = statusOf(line);
  line.socket.destroy();
  return status;
}

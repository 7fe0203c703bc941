import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A local port that passes connections on to another one, and counts the bytes that come back. */
export interface CountingProxy {
  readonly port: number;
  /** How many bytes the server behind the proxy has sent. */
  bytes(): number;
  close(): void;
}

/** Starts a proxy that passes connections on to a local port. */
export async function countingProxy(target: number): Promise<CountingProxy> {
  const sockets = new Set<Socket>();
  let bytes = 0;
  const server: Server = createServer((socket) => {
    const behind = connect({ host: '127.0.0.1', port: target });
    for (const [one, other] of [[socket, behind] as const, [behind, socket] as const]) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
    behind.on('data', (part: Buffer) => (bytes += part.length));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => bytes,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

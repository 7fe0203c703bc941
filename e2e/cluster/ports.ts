import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Free TCP ports on 127.0.0.1.
 * They lie below the range for outgoing connections (on Linux from 32768), so that no connection takes the port of a
 * server that is killed and started again.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(20_000, 32_000);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

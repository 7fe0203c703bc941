import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Ports that nothing listens on, on 127.0.0.1.
 * They lie below the range from which systems take ports for outgoing connections: a server that is killed finds its
 * port free when it is started again.
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

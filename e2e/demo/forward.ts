import { connect, createServer, type Server } from 'node:net';

/**
 * `kubectl port-forward` for nodes that run pods as processes of this machine: a loopback port whose connections reach
 * the pod from a loopback address, as they would inside the pod. `target` is called for each connection, so that
 * connections follow a pod that moved.
 */
export async function forward(
  target: () => Promise<{ ip: string; port: number }>,
  port = 0,
): Promise<{ port: number; close(): void }> {
  const server: Server = createServer((client) => {
    client.on('error', () => client.destroy());
    target()
      .then(({ ip, port: to }) => {
        const upstream = connect({ host: ip, port: to, localAddress: '127.0.0.1' });
        upstream.on('error', () => client.destroy());
        upstream.on('close', () => client.destroy());
        client.on('close', () => upstream.destroy());
        client.pipe(upstream).pipe(client);
      })
      .catch(() => client.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
  const bound = server.address();
  return { port: typeof bound === 'object' && bound ? bound.port : port, close: () => server.close() };
}

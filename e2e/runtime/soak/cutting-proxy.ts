import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy to the API server that can reset or freeze its connections. TLS passes through it untouched. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ near: Socket; far: Socket }>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(targetPort: number): Promise<CuttingProxy> {
    const server = createServer();
    const proxy = new CuttingProxy(server);
    server.on('connection', (near) => proxy.#join(near, connect(targetPort, '127.0.0.1')));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  /** Resets every connection. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
  }

  /** Makes the current connections half-open: they stay up and carry no more data. New connections work. */
  freeze(): void {
    for (const { near, far } of this.#pairs) {
      near.unpipe(far);
      far.unpipe(near);
      // Further data is read and dropped, as by a middlebox that forgot the connection.
      near.resume();
      far.resume();
    }
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket, far: Socket): void {
    const pair = { near, far };
    this.#pairs.add(pair);
    near.pipe(far);
    far.pipe(near);
    const end = (): void => {
      this.#pairs.delete(pair);
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.on('error', end).on('close', end);
  }
}

import type { Server as GrpcServer } from '@grpc/grpc-js';
import type { Server } from 'node:net';
import type { Logger } from '../../base/logger.ts';
import { closeGrpc, listenGrpc } from '../../net/grpc-server.ts';
import { type DoorOptions, httpServerMetrics } from '../../net/http/index.ts';
import { boundAddress, closeServer, listen } from '../../net/listen.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { Closing } from './closing.ts';

export const closeGraceMs = 3_000;

/** The listeners of an agent. Each is bound and counted under its name; all are closed together. */
export class Listeners {
  readonly #logger: Logger;
  readonly #metrics: ReturnType<typeof httpServerMetrics>;
  readonly closing: Closing;

  constructor(logger: Logger, { registry }: SelfMetrics) {
    this.#logger = logger;
    this.#metrics = httpServerMetrics(registry, 'svc_agent');
    this.closing = new Closing(logger);
  }

  door(name: string): DoorOptions {
    return { name, logger: this.#logger, metrics: this.#metrics };
  }

  /** Resolves with the port. Errors: ERR_LISTEN. */
  async bind(name: string, server: Server, host: string, port: number): Promise<number> {
    const bound = await listen(name, server, { host, port });
    this.closing.add(() => closeServer(server, closeGraceMs));
    this.#logger.info('listening', { listener: name, address: boundAddress(server), port: bound });
    return bound;
  }

  /** Like `bind`, for gRPC. */
  async bindGrpc(name: string, server: GrpcServer, host: string, port: number): Promise<number> {
    const bound = await listenGrpc(name, server, { host, port }, this.door(name));
    this.closing.add(() => closeGrpc(server, closeGraceMs));
    return bound;
  }
}

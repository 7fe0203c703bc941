import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { createServer, type Server as NetServer } from 'node:net';
import { Door, type DoorOptions } from './http/door.ts';
import { listen } from './listen.ts';

/**
 * A gRPC server with the limits of every listener: message size, streams of a connection, memory of a session, idle
 * connections (ended after five minutes) and vanished peers (pinged every two minutes).
 * Sessions that flood are ended by nghttp2's own limits.
 */
export function createGrpcServer(limits: { readonly maxMessageBytes: number }): Server {
  setLogVerbosity(logVerbosity.NONE); // it writes plain lines among our JSON; errors reach us by other ways
  return new Server({
    'grpc.max_receive_message_length': limits.maxMessageBytes,
    'grpc.max_concurrent_streams': 64,
    'grpc.max_connection_idle_ms': 300_000,
    'grpc.keepalive_time_ms': 120_000,
    'grpc.keepalive_timeout_ms': 20_000,
    // Units: MB.
    'grpc-node.max_session_memory': 64,
  });
}

interface Listener {
  readonly accepting: NetServer;
  readonly door: Door;
  readonly drain: (graceMs: number) => void;
}

const listeners = new WeakMap<Server, Listener>();

/**
 * Binds a gRPC server without TLS behind the limits of `door`; resolves with its port.
 * Errors: ERR_LISTEN with the same message as every other listener.
 */
export async function listenGrpc(
  name: string,
  server: Server,
  address: { host: string; port: number },
  options: DoorOptions = {},
): Promise<number> {
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const door = new Door(() => {}, options);
  const accepting = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    socket.on('error', () => {}); // the connection ends; its calls are notified
    if (door.enter(socket)) injector.injectConnection(socket);
  });
  const drain = (graceMs: number): void => {
    injector.drain(graceMs);
    injector.destroy();
  };
  listeners.set(server, { accepting, door, drain });
  return listen(name, accepting, address);
}

/** Stops a gRPC server: calls in flight finish within `graceMs`, then are cut. */
export function closeGrpc(server: Server, graceMs: number): Promise<void> {
  const listener = listeners.get(server);
  listener?.accepting.close();
  listener?.drain(graceMs);
  return new Promise((resolve) => {
    const cut = setTimeout(() => {
      server.forceShutdown();
      listener?.door.destroyAll();
    }, graceMs);
    server.tryShutdown(() => {
      clearTimeout(cut);
      listener?.door.destroyAll();
      resolve();
    });
  });
}

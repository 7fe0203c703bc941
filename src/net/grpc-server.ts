import { logVerbosity, type MethodDefinition, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { createServer, type Server as NetServer } from 'node:net';
import { Door, type DoorOptions } from './http/door.ts';
import { listen } from './listen.ts';

/**
 * A gRPC server with the limits of every listener: message size, streams of a connection, memory of a session, idle
 * connections (ended after five minutes) and vanished peers (pinged every two minutes).
 * Sessions that flood are ended by nghttp2's own limits.
 */
export function createGrpcServer(limits: { readonly maxMessageBytes: number }): Server {
  setLogVerbosity(logVerbosity.NONE); // it writes plain text among our JSON log lines; errors reach us in other ways
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

type Injector = ReturnType<Server['createConnectionInjector']>;
interface Listener {
  readonly accepting: NetServer;
  readonly door: Door;
  readonly injector: Injector;
}

const listeners = new WeakMap<Server, Listener>();

/**
 * Binds a gRPC server without TLS, with the connection limits of `options`; resolves with its port.
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
  listeners.set(server, { accepting, door, injector });
  return listen(name, accepting, address);
}

/** Stops a gRPC server that listens: calls in flight finish within `graceMs`, then are cut. */
export async function closeGrpc(server: Server, graceMs: number): Promise<void> {
  const listener = listeners.get(server);
  if (!listener) return;
  const { accepting, door, injector } = listener;
  accepting.close();
  const cut = setTimeout(() => door.destroyAll(), graceMs);
  await endCalls(server, injector, graceMs);
  clearTimeout(cut);
  door.destroyAll();
}

/** Ends a server whose connections were injected: calls in flight finish within `graceMs`, then are cut. */
export function endCalls(server: Server, injector: Injector, graceMs: number): Promise<void> {
  injector.drain(graceMs);
  injector.destroy();
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.forceShutdown(), graceMs);
    server.tryShutdown(() => {
      clearTimeout(cut);
      resolve();
    });
  });
}

const bytes = (data: Buffer): Buffer => data;

/** A unary method whose messages stay bytes: our own decoders parse them. */
export function bytesMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  };
}

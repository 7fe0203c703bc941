import { createServer, type Server } from 'node:http';
import { Door, type DoorOptions, type HttpHandler } from './door.ts';
import { nodeOptions } from './limits.ts';

const doors = new WeakMap<object, Door>();

/**
 * Installs a door (the limits and checks in front of the handler) in a server, so that closing the server covers every
 * connection that the door let in.
 */
export function installDoor<S extends Server>(server: S, door: Door): S {
  door.guard(server);
  doors.set(server, door);
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    closeIdle();
    door.http2.closeIdle();
  };
  server.closeAllConnections = () => door.destroyAll();
  return server;
}

/** The door of a server that was created here; undefined for any other. */
export function doorOf(server: object): Door | undefined {
  return doors.get(server);
}

/** An HTTP/1.1 server without TLS. */
export function createHttpServer(handler: HttpHandler, options: DoorOptions = {}): Server {
  const door = new Door(handler, options);
  return installDoor(createServer(nodeOptions(door.limits)), door);
}

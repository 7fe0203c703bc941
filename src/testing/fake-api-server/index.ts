export { FakeApiServer, type FakeApiServerOptions } from './server.ts';
export type { Fault, RequestMatch, SeenRequest, Verb } from './faults.ts';
export { busy, conflict, expired, notFound, StatusError } from './status-error.ts';
export type { WatchConnection } from './watch-connection.ts';

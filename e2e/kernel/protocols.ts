/** Protocols other than HTTP: the code that the client and the servers among the workloads share. */

export type Protocol = 'redis' | 'postgres' | 'grpc';

export const ports: Readonly<Record<Protocol, number>> = { redis: 6379, postgres: 5432, grpc: 50_051 };

/** Calls that the client sends one after the other, over one connection that closes after the last call. */
export interface CallOrder {
  readonly id: number;
  readonly protocol: Protocol;
  readonly ip: string;
  readonly calls: readonly Calls[];
}

export interface Calls {
  /** A command of Redis, a statement of SQL, or the path of a gRPC method. */
  readonly call: string;
  readonly count: number;
}

/** A message of PostgreSQL: a letter, and the length of all that follows the letter. */
export function postgresMessage(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}

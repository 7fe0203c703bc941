import type { protocolNames } from '../api/v1alpha1/index.ts';

export type Protocol = (typeof protocolNames)[number];

/** Protocols by `db.system`; any other database counts as SQL. */
export const databases: Readonly<Record<string, Protocol>> = {
  redis: 'Redis',
  mongodb: 'Mongo',
  couchbase: 'Couchbase',
  memcached: 'Memcached',
};
/** Protocols by `messaging.system`. */
export const brokers: Readonly<Record<string, Protocol>> = {
  kafka: 'Kafka',
  mqtt: 'MQTT',
  nats: 'NATS',
  amqp: 'AMQP',
  rabbitmq: 'AMQP',
};

/** The protocol of a span, from its attributes; null when they name no known protocol. */
export function spanProtocol(attribute: (key: string) => string): Protocol | null {
  const system = attribute('db.system.name') || attribute('db.system');
  if (system) return databases[system] ?? 'SQL';
  if (attribute('messaging.system')) return brokers[attribute('messaging.system')] ?? null;
  if (attribute('gen_ai.operation.name') || attribute('gen_ai.system')) return 'GenAI';
  const rpc = attribute('rpc.system.name') || attribute('rpc.system');
  if (rpc) return isGrpc(rpc) ? 'GRPC' : null;
  if (attribute('dns.question.name')) return 'DNS';
  return attribute('http.request.method') || attribute('url.full') ? 'HTTP' : null;
}

/** Whether an `rpc.system` is gRPC. An empty value counts as gRPC. */
export function isGrpc(system: string): boolean {
  return system === '' || system === 'grpc';
}

import type { CaptureMonitorRule } from '../../capture/index.ts';

export type Protocol = NonNullable<CaptureMonitorRule['protocols']>[number];

const databases: Readonly<Record<string, Protocol>> = {
  redis: 'Redis',
  mongodb: 'Mongo',
  couchbase: 'Couchbase',
  memcached: 'Memcached',
};
const brokers: Readonly<Record<string, Protocol>> = {
  kafka: 'Kafka',
  mqtt: 'MQTT',
  nats: 'NATS',
  amqp: 'AMQP',
  rabbitmq: 'AMQP',
};

/**
 * The protocol that a metric speaks of, by its OTLP name and the attributes of its point (`''` for an absent one);
 * null for one that belongs to none, such as a flow. A database that is none of the named ones speaks SQL.
 */
export function metricProtocol(otlpName: string, attribute: (key: string) => string): Protocol | null {
  const area = otlpName.slice(0, otlpName.indexOf('.'));
  switch (area) {
    case 'http':
      return 'HTTP';
    case 'rpc':
      return isGrpc(attribute('rpc.system.name') || attribute('rpc.system')) ? 'GRPC' : null;
    case 'db':
      return databases[attribute('db.system.name') || attribute('db.system')] ?? 'SQL';
    case 'messaging':
      return brokers[attribute('messaging.system')] ?? null;
    case 'dns':
      return 'DNS';
    case 'gen_ai':
      return 'GenAI';
    default:
      return null;
  }
}

/** The protocol of a span, by the attributes that its kind of operation has; null where none tells. */
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

function isGrpc(system: string): boolean {
  return system === '' || system === 'grpc';
}

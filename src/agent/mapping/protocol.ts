import { brokers, databases, isGrpc, type Protocol } from '../../stream/index.ts';

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

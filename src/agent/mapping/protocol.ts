import { brokers, databases, isGrpc, type Protocol } from '../../stream/index.ts';

/**
 * The protocol of a metric, by its OTLP name and the attributes of its point (`''` for an absent one); null for a
 * metric without a protocol, such as a flow. An unlisted database counts as SQL.
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

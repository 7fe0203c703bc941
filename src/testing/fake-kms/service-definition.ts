import { createRequire } from 'node:module';
import { fromJSON, type ServiceDefinition } from '@grpc/proto-loader';

let made: ServiceDefinition | undefined;

/**
 * The gRPC definition of the key service, from the protocol description that the official client ships. It is cached:
 * reading the description takes tens of milliseconds, and every fake key service needs the definition.
 */
export function keyManagementService(): ServiceDefinition {
  return (made ??= readDefinition());
}

function readDefinition(): ServiceDefinition {
  const protos = createRequire(import.meta.url)('@google-cloud/kms/build/protos/protos.json') as Parameters<
    typeof fromJSON
  >[0];
  const definition = fromJSON(protos, { longs: Number, enums: String, bytes: Buffer, defaults: false, oneofs: true });
  return definition['google.cloud.kms.v1.KeyManagementService'] as ServiceDefinition;
}

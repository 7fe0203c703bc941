// The package's index would load the clients of four other services and classes of all their messages.
import { KeyManagementServiceClient } from '@google-cloud/kms/build/src/v1/key_management_service_client.js';
import { credentials } from '@grpc/grpc-js';

/** A key service on loopback without TLS, for tests; absent: the real one with the machine's identity. */
export interface KmsEndpoint {
  host: string;
  port: number;
}

/**
 * The official client. The longest pause between its connection attempts is two seconds: by default the channel's
 * back-off grows to two minutes, and a recovered key service must be used again immediately.
 */
export function createKmsClient(endpoint: KmsEndpoint | undefined): KeyManagementServiceClient {
  const channel = { 'grpc.max_reconnect_backoff_ms': 2_000, 'grpc.initial_reconnect_backoff_ms': 250 };
  if (!endpoint) return new KeyManagementServiceClient({ fallback: false, ...channel });
  return new KeyManagementServiceClient({
    fallback: false,
    apiEndpoint: endpoint.host,
    port: endpoint.port,
    sslCreds: credentials.createInsecure(),
    // A proxy that the environment names cannot reach this machine's loopback.
    'grpc.enable_http_proxy': 0,
    projectId: 'local',
    // Set here, so that the library does not ask the cloud's metadata server, which a laptop lacks.
    clientOptions: { universeDomain: 'googleapis.com' },
    ...channel,
  });
}

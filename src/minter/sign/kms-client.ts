// The package's index would load the clients of four other services and classes of all their messages.
import { KeyManagementServiceClient } from '@google-cloud/kms/build/src/v1/key_management_service_client.js';
import { credentials } from '@grpc/grpc-js';

/** A key service on loopback without TLS, for tests; absent: the real one with the machine's identity. */
export interface KmsEndpoint {
  host: string;
  port: number;
}

/**
 * The longest pause between connection attempts is two seconds: by default the channel's back-off grows to two minutes,
 * and a recovered key service must be used again immediately.
 * A connection that dies silently is replaced when a ping has had no answer for two seconds; without pings, that is left
 * to the kernel, which takes some 15 minutes. Pings are sent only during calls, at least ten seconds apart: the protocol
 * allows no shorter interval. Where a server objects to pings, the channel doubles that time by itself.
 * Units: ms. Source: https://github.com/grpc/proposal/blob/master/A8-client-side-keepalive.md.
 */
const channel = {
  'grpc.max_reconnect_backoff_ms': 2_000,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2_000,
};

/** The official client. */
export function createKmsClient(endpoint: KmsEndpoint | undefined): KeyManagementServiceClient {
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

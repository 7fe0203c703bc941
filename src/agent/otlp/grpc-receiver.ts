import {
  type handleUnaryCall,
  logVerbosity,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  setLogVerbosity,
  status,
} from '@grpc/grpc-js';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { listenError } from '../../net/listen.ts';
import { type Acceptance, bodyLimits, type OtlpConsumer } from './consumer.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest } from './protobuf/metrics.ts';
import { decodeTracesRequest } from './protobuf/traces.ts';
import { exportResponse } from './responses.ts';

const metricsPath = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';
const tracesPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

const bytes = (data: Buffer): Buffer => data;

/** A unary service of one method whose messages stay bytes: the decoders are ours. */
function exportService(path: string): ServiceDefinition {
  return {
    Export: {
      path,
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    },
  };
}

/**
 * OTLP over gRPC without TLS, for loopback: MetricsService/Export and TraceService/Export.
 * A request that does not decode is INVALID_ARGUMENT; one over the memory budget is OK with a partial success.
 */
export function createGrpcReceiver(options: { consumer: OtlpConsumer; logger: Logger }): Server {
  const { consumer, logger } = options;
  const cache = new AttributeCache();
  setLogVerbosity(logVerbosity.NONE); // it writes plain lines among our JSON; errors reach us by other ways
  const server = new Server({
    'grpc.max_receive_message_length': bodyLimits.decoded,
    'grpc.max_concurrent_streams': 64,
  });
  const handler =
    (take: (body: Buffer) => Acceptance, signal: 'metrics' | 'traces'): handleUnaryCall<Buffer, Buffer> =>
    (call, callback) => {
      try {
        const { rejected, reason, settled } = take(call.request);
        const answer = (): void => callback(null, exportResponse('protobuf', signal, rejected, reason));
        if (settled) void settled.then(answer);
        else answer();
      } catch (error) {
        if (isOperatorError(error, 'ERR_INPUT_INVALID')) {
          consumer.rejected('malformed', 1);
          callback({ code: status.INVALID_ARGUMENT, details: error.message });
          return;
        }
        logger.error('otlp request failed', { error: errorText(error) });
        callback({ code: status.INTERNAL, details: 'internal error' });
      }
    };
  server.addService(exportService(metricsPath), {
    Export: handler((body) => consumer.metrics(decodeMetricsRequest(body, cache), body.length), 'metrics'),
  });
  server.addService(exportService(tracesPath), {
    Export: handler((body) => consumer.traces(decodeTracesRequest(body), body.length), 'traces'),
  });
  return server;
}

/** Binds a gRPC server; resolves with its port. Errors: ERR_LISTEN in the words of every other listener. */
export function listenGrpc(name: string, server: Server, address: { host: string; port: number }): Promise<number> {
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${address.port}`, ServerCredentials.createInsecure(), (error, port) => {
      if (!error) return resolve(port);
      const code = /\bE[A-Z]{4,}\b/.exec(error.message)?.[0];
      reject(listenError(name, address.host, address.port, Object.assign(error, code ? { code } : {})));
    });
  });
}

/** Stops a gRPC server: calls in flight finish within `graceMs`, then are cut. */
export function closeGrpc(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.forceShutdown(), graceMs);
    server.tryShutdown(() => {
      clearTimeout(cut);
      resolve();
    });
  });
}

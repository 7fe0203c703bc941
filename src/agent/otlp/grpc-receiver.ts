import { type handleUnaryCall, type Server, status } from '@grpc/grpc-js';
import { errorText, isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { bytesMethod, createGrpcServer } from '../../net/grpc-server.ts';
import { type Acceptance, bodyLimits, type OtlpConsumer } from './consumer.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';
import { exportResponse } from './responses.ts';

const metricsPath = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';
const tracesPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

/**
 * OTLP over gRPC without TLS, for loopback: MetricsService/Export and TraceService/Export.
 * A request that does not decode is INVALID_ARGUMENT; one over the memory budget is OK with a partial success.
 */
export function createGrpcReceiver(options: { consumer: OtlpConsumer; logger: Logger }): Server {
  const { consumer, logger } = options;
  const cache = new AttributeCache();
  const server = createGrpcServer({ maxMessageBytes: bodyLimits.decoded });
  const handler =
    (take: (body: Buffer) => Acceptance, signal: 'metrics' | 'traces'): handleUnaryCall<Buffer, Buffer> =>
    (call, callback) => {
      const fail = (error: unknown): void => {
        logger.error('otlp request failed', { error: errorText(error) });
        callback({ code: status.INTERNAL, details: 'internal error' });
      };
      try {
        const { rejected, reason, settled } = take(call.request);
        const answer = (): void => callback(null, exportResponse('protobuf', signal, rejected, reason));
        if (settled) settled.then(answer, fail);
        else answer();
      } catch (error) {
        if (isOperatorError(error, 'ERR_INPUT_INVALID')) {
          consumer.rejected('malformed', 1);
          callback({ code: status.INVALID_ARGUMENT, details: error.message });
          return;
        }
        fail(error);
      }
    };
  server.addService(
    { Export: bytesMethod(metricsPath) },
    {
      Export: handler((body) => consumer.metrics(decodeMetricsRequest(body, cache), body.length), 'metrics'),
    },
  );
  server.addService(
    { Export: bytesMethod(tracesPath) },
    {
      Export: handler((body) => consumer.traces(decodeTracesRequest(body), body.length), 'traces'),
    },
  );
  return server;
}

import { type handleServerStreamingCall, ServerCredentials, status } from '@grpc/grpc-js';
import type { TLSSocket } from 'node:tls';
import { isOperatorError } from '../../base/errors.ts';
import { bytesMethod, createGrpcServer, endCalls } from '../../net/grpc-server.ts';
import { writePart } from '../../net/http/index.ts';
import {
  decodeRequest,
  encodeMessage,
  maxRequestBytes,
  readPath,
  type StreamMessage,
  streamQuery,
} from '../../stream/index.ts';
import { serveStream, type StreamOptions } from './stream-service.ts';

const service = { Read: { ...bytesMethod(readPath), responseStream: true, responseSerialize: encodeMessage } };

export interface StreamGrpc {
  /** Serves a connection whose TLS handshake is done; its calls are denied unless `allowed`. */
  readonly accept: (socket: TLSSocket, allowed: boolean) => void;
  /** Ends the service; calls in flight get `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
}

/**
 * Serves the stream of spans and flows as gRPC (`src/stream/proto/stream.proto`) on connections that the caller has
 * accepted and identified. A client without permission gets PERMISSION_DENIED, an invalid request INVALID_ARGUMENT.
 */
export function createStreamGrpc(options: StreamOptions): StreamGrpc {
  const server = createGrpcServer({ maxMessageBytes: maxRequestBytes });
  const denied = new Set<string>();
  const read: handleServerStreamingCall<Buffer, StreamMessage> = (call) => {
    const fail = (code: status, details: string): void => void call.emit('error', { code, details });
    if (denied.has(call.getPeer())) {
      return fail(status.PERMISSION_DENIED, 'this client certificate may not call this port');
    }
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    call.on('close', () => gone.abort());
    const write = async (messages: readonly StreamMessage[]): Promise<void> => {
      for (const message of messages) {
        if (gone.signal.aborted) return;
        await writePart(call, message, gone.signal);
      }
    };
    try {
      const query = streamQuery(decodeRequest(call.request), options.clock.now(), options);
      serveStream(options, query, { write, gone: gone.signal }).then(
        () => call.end(),
        (error: unknown) =>
          isOperatorError(error, 'ERR_INPUT_INVALID')
            ? fail(status.INVALID_ARGUMENT, error.message)
            : fail(status.INTERNAL, 'internal error'),
      );
    } catch (error) {
      if (isOperatorError(error)) return fail(status.INVALID_ARGUMENT, error.message);
      throw error;
    }
  };
  server.addService(service, { Read: read });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  return {
    accept: (socket, allowed) => {
      // As `getPeer` writes it: on a listener on `::`, a peer over IPv4 is `::ffff:10.0.0.1:4711`.
      const peer = `${socket.remoteAddress}:${socket.remotePort}`;
      if (allowed) denied.delete(peer);
      else denied.add(peer);
      socket.on('close', () => denied.delete(peer));
      injector.injectConnection(socket);
    },
    close: (graceMs) => endCalls(server, injector, graceMs),
  };
}

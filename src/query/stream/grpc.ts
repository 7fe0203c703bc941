import type { ServerResponse } from 'node:http';
import {
  invalidField,
  decodeRequest,
  encodeMessage,
  type StreamMessage,
  type StreamRequest,
} from '../../stream/index.ts';
import type { ApiError } from '../api/api-error.ts';

/**
 * The framing of one server-streaming gRPC call on an HTTP/2 response. Source: grpc.io, "gRPC over HTTP2".
 * The server of a gRPC library cannot be used: it requires its own connections, and this port serves other requests
 * too.
 */

/** gRPC status codes of refusals. Source: grpc.io, "Status codes and their use in gRPC". */
const codes: Readonly<Partial<Record<ApiError['errorType'], number>>> = {
  canceled: 1,
  bad_data: 3,
  timeout: 4,
  forbidden: 7,
  too_many_requests: 8,
  unavailable: 14,
  unauthorized: 16,
};
const internal = 13;
const headBytes = 5;

/** Decodes the request from a body that consists of one frame. Errors: ERR_INPUT_INVALID. */
export function requestOfFrame(body: Buffer): StreamRequest {
  if (body.length < headBytes || body.readUInt32BE(1) !== body.length - headBytes) {
    throw invalidField('request', 'is not one gRPC message');
  }
  if (body[0] !== 0) throw invalidField('request', 'is compressed');
  return decodeRequest(body.subarray(headBytes));
}

export function framesOf(messages: readonly StreamMessage[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => {
      const data = encodeMessage(message);
      const head = Buffer.alloc(headBytes);
      head.writeUInt32BE(data.length, 1);
      return [head, data];
    }),
  );
}

export function sendGrpcHead(res: ServerResponse): void {
  res.writeHead(200, { 'content-type': 'application/grpc' });
  res.flushHeaders();
}

export function sendGrpcTrailers(res: ServerResponse, status = 0, message = ''): void {
  res.addTrailers({
    'grpc-status': String(status),
    ...(message ? { 'grpc-message': escaped(message) } : {}),
  });
  res.end();
}

/** Sends a refusal, even if the answer to the call has already begun. */
export function sendGrpcError(res: ServerResponse, { errorType, message }: ApiError): void {
  if (!res.headersSent) sendGrpcHead(res);
  sendGrpcTrailers(res, codes[errorType] ?? internal, message);
}

/** Text of a `grpc-message`: printable ASCII unchanged, other bytes percent-encoded. */
function escaped(message: string): string {
  return message.toWellFormed().replace(/[^ -$&-~]+/gu, encodeURIComponent);
}

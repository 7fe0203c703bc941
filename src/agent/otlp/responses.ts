import { WireWriter } from '../../base/wire/protobuf-wire.ts';

/** The two encodings of OTLP over HTTP. A response has the encoding of its request. */
export type Encoding = 'protobuf' | 'json';

export const contentTypes: Record<Encoding, string> = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
};

/** Codes of google.rpc.Status that a receiver sends. */
export const rpcCodes = { invalidArgument: 3, deadlineExceeded: 4, notFound: 5, resourceExhausted: 8, internal: 13 };

/**
 * ExportMetricsServiceResponse or ExportTraceServiceResponse: empty, or with a partial success.
 * Both number their members alike; only the JSON name of the count differs.
 */
export function exportResponse(
  encoding: Encoding,
  signal: 'metrics' | 'traces',
  rejected: number,
  reason: string,
): Buffer {
  if (encoding === 'json') {
    const count = signal === 'metrics' ? 'rejectedDataPoints' : 'rejectedSpans';
    const partial = { [count]: String(rejected), errorMessage: reason };
    return Buffer.from(JSON.stringify(rejected > 0 || reason ? { partialSuccess: partial } : {}));
  }
  const writer = new WireWriter(32);
  if (rejected > 0 || reason) {
    writer.message(1, (partial) => {
      if (rejected > 0) partial.int(1, rejected);
      if (reason) partial.string(2, reason);
    });
  }
  return Buffer.from(writer.finish());
}

/** A google.rpc.Status body. */
export function statusBody(encoding: Encoding, code: number, message: string): Buffer {
  if (encoding === 'json') return Buffer.from(JSON.stringify({ code, message, details: [] }));
  return Buffer.from(new WireWriter(64).int(1, code).string(2, message).finish());
}

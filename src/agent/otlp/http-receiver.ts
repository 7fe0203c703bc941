import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isOperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import { createHttpServer, type DoorOptions, type RefusalForm } from '../../net/http/index.ts';
import { type Acceptance, bodyLimits, type OtlpConsumer, type RejectReason } from './consumer.ts';
import { decodeMetricsJson } from './json/metrics.ts';
import { decodeTracesJson } from './json/traces.ts';
import { AttributeCache } from './protobuf/attribute-cache.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';
import { knownEncoding, readBody } from './request-body.ts';
import { contentTypes, type Encoding, exportResponse, rpcCodes, statusBody } from './responses.ts';

type Signal = 'metrics' | 'traces';

const paths: Readonly<Record<string, Signal>> = { '/v1/metrics': 'metrics', '/v1/traces': 'traces' };

export interface HttpReceiverOptions {
  /** Limits and metrics of the listener. */
  readonly door?: DoorOptions;
  readonly consumer: OtlpConsumer;
  readonly logger: Logger;
  /** Caps on one body. Default `bodyLimits`. */
  readonly limits?: { readonly wire: number; readonly decoded: number };
}

/**
 * OTLP over HTTP: `POST /v1/metrics` and `/v1/traces`, protobuf or JSON, plain, gzip, deflate or zstd.
 * 200 once the accepted points are durable or the sender has waited long enough (with a partial success when points
 * were left out), 400 malformed, 404, 405, 413 too large, 415 unknown content type or encoding; never 429 or 503, which
 * would make the instrument hold data back and take more memory. Error bodies are google.rpc.Status in the request's
 * encoding.
 * Source: OTLP specification, "OTLP/HTTP".
 */
export function createHttpReceiver(options: HttpReceiverOptions): Server {
  const cache = new AttributeCache();
  return createHttpServer((req, res) => handle(req, res, options, cache), { form: statusForm, ...options.door });
}

/** The encoding of a request that the listener itself refuses is unknown, so the refusal is JSON. */
const statusForm: RefusalForm = ({ status, message }) => ({
  type: contentTypes.json,
  body: statusBody('json', status === 500 ? rpcCodes.internal : rpcCodes.invalidArgument, message).toString(),
});

async function handle(
  req: IncomingMessage,
  res: ServerResponse,
  options: HttpReceiverOptions,
  cache: AttributeCache,
): Promise<void> {
  const { path } = requestTarget(req);
  const signal = Object.hasOwn(paths, path) ? paths[path] : undefined;
  const encoding = encodingOf(req.headers['content-type']);
  const shown = encoding ?? 'json';
  const refuse = (status: number, code: number, message: string, reason?: RejectReason): void => {
    if (reason) options.consumer.rejected(reason, 1);
    answer(res, status, shown, statusBody(shown, code, message));
    // The unread rest of the body must not be parsed as the next request.
    if (!req.complete) res.on('finish', () => req.destroy());
  };
  if (!signal) return refuse(404, rpcCodes.notFound, `no such path; ${Object.keys(paths).join(' and ')} are served`);
  if (req.method !== 'POST') {
    res.setHeader('allow', 'POST');
    return refuse(405, rpcCodes.invalidArgument, `${req.method ?? ''} is not allowed, POST is`, 'method');
  }
  if (!encoding) {
    const types = Object.values(contentTypes).join(' or ');
    return refuse(415, rpcCodes.invalidArgument, `content-type must be ${types}`, 'content_type');
  }
  if (!knownEncoding(req.headers['content-encoding'])) {
    return refuse(415, rpcCodes.invalidArgument, 'content-encoding must be gzip, deflate, zstd or absent', 'encoding');
  }
  try {
    const { rejected, reason, settled } = await receive(signal, encoding, req, options, cache);
    await settled;
    answer(res, 200, encoding, exportResponse(encoding, signal, rejected, reason));
  } catch (error) {
    if (isOperatorError(error, 'ERR_TOO_LARGE')) {
      return refuse(413, rpcCodes.resourceExhausted, error.message, 'too_large');
    }
    if (isOperatorError(error, 'ERR_INPUT_INVALID')) {
      return refuse(400, rpcCodes.invalidArgument, error.message, 'malformed');
    }
    throw error;
  }
}

/** A function of its own, so that the body is out of scope while the sender waits for the disk. */
async function receive(
  signal: Signal,
  encoding: Encoding,
  req: IncomingMessage,
  { consumer, limits = bodyLimits }: HttpReceiverOptions,
  cache: AttributeCache,
): Promise<Acceptance> {
  return take(signal, encoding, await readBody(req, limits), consumer, cache);
}

function take(
  signal: Signal,
  encoding: Encoding,
  body: Buffer,
  consumer: OtlpConsumer,
  cache: AttributeCache,
): Acceptance {
  if (signal === 'metrics') {
    const request = encoding === 'json' ? decodeMetricsJson(body) : decodeMetricsRequest(body, cache);
    return consumer.metrics(request, body.length);
  }
  return consumer.traces(encoding === 'json' ? decodeTracesJson(body) : decodeTracesRequest(body), body.length);
}

function encodingOf(contentType: string | undefined): Encoding | null {
  const type = (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type === contentTypes.protobuf) return 'protobuf';
  return type === contentTypes.json ? 'json' : null;
}

function answer(res: ServerResponse, status: number, encoding: Encoding, body: Buffer): void {
  res.writeHead(status, { 'content-type': contentTypes[encoding], 'content-length': body.length });
  if (body.length === 0) res.end();
  else res.end(body);
}

import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger } from '../../base/logger.ts';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import type { Acceptance, OtlpConsumer } from './consumer.ts';
import { closeGrpc, listenGrpc } from '../../net/grpc-server.ts';
import { createGrpcReceiver } from './grpc-receiver.ts';
import { decodeMetricsRequest, decodeTracesRequest } from './protobuf/decode.ts';

const metricsPath = '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export';
const tracesPath = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const payload = (name: string): Buffer => {
  const raw = readFileSync(join(import.meta.dirname, '../testdata/otlp', name));
  return raw[0] === 0x1f ? gunzipSync(raw) : raw;
};

let taken: unknown[] = [];
let rejected: string[] = [];
let acceptance: Acceptance = { rejected: 0, reason: '' };
const consumer: OtlpConsumer = {
  metrics: (request) => (taken.push(request), acceptance),
  traces: (request) => (taken.push(request), acceptance),
  rejected: (reason) => void rejected.push(reason),
};
const server = createGrpcReceiver({ consumer, logger: silentLogger });
let client: Client;
let port: number;

beforeAll(async () => {
  port = await listenGrpc('otlp-grpc', server, { host: '127.0.0.1', port: 0 });
  client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
});
afterAll(async () => {
  client.close();
  await closeGrpc(server, 0);
});
beforeEach(() => {
  taken = [];
  rejected = [];
  acceptance = { rejected: 0, reason: '' };
});

function call(path: string, body: Buffer): Promise<Buffer> {
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, body, (error, answer) => (error ? reject(error) : resolve(answer!)));
  });
}

test('takes the recorded metrics and traces of the gRPC exporters', async () => {
  const metrics = payload('10-patched-grpc-metrics-go-exponential.bin');
  const traces = payload('11-patched-grpc-traces-go.bin');
  expect(await call(metricsPath, metrics)).toEqual(Buffer.alloc(0));
  expect(await call(tracesPath, traces)).toEqual(Buffer.alloc(0));
  expect(taken).toEqual([decodeMetricsRequest(metrics), decodeTracesRequest(traces)]);
});

test('answers OK with a partial success instead of an error that the sender would retry', async () => {
  acceptance = { rejected: 7, reason: 'over budget' };
  const reader = new WireReader(await call(metricsPath, Buffer.alloc(0)));
  reader.key();
  const partial = reader.message();
  partial.key();
  expect(partial.int()).toBe(7);
});

test('a malformed message is answered with INVALID_ARGUMENT that names the field, and is counted', async () => {
  const error = await call(metricsPath, Buffer.from([0x08, 0x01])).catch((e: unknown) => e as ServiceError);
  expect(error).toMatchObject({ code: status.INVALID_ARGUMENT });
  expect((error as ServiceError).details).toContain('resource_metrics: wire type 0');
  expect(rejected).toEqual(['malformed']);
});

test('a port in use is reported with the same message as by every other listener', async () => {
  const other = createGrpcReceiver({ consumer, logger: silentLogger });
  const error = await listenGrpc('otlp-grpc', other, { host: '127.0.0.1', port }).catch((e: unknown) => e);
  expect(error).toMatchObject({
    code: 'ERR_LISTEN',
    message: `otlp-grpc listen 127.0.0.1:${port}: address already in use`,
  });
});

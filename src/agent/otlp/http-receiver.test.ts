import { request as httpRequest, type Server } from 'node:http';
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { silentLogger } from '../../base/logger.ts';
import { WireReader } from '../../base/wire/protobuf-wire.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { encodeMetricsRequest, encodeTracesRequest } from '../../testing/otlp-encode.ts';
import type { Acceptance } from './consumer.ts';
import { createHttpReceiver } from './http-receiver.ts';
import type { MetricsRequest } from './model.ts';

interface Answer {
  status: number;
  type: string;
  body: Buffer;
  headers: NodeJS.Dict<string | string[]>;
}

let server: Server;
let port: number;
let taken: unknown[];
let rejected: [string, number][];
let acceptance: Acceptance;

beforeAll(async () => {
  server = createHttpReceiver({
    consumer: {
      metrics: (request) => (taken.push(request), acceptance),
      traces: (request) => (taken.push(request), acceptance),
      rejected: (reason, count) => void rejected.push([reason, count]),
    },
    logger: silentLogger,
    limits: { wire: 10_000, decoded: 20_000 },
  });
  port = await listen('test', server, { host: '127.0.0.1', port: 0 });
});
afterAll(() => closeServer(server, 0));
beforeEach(() => {
  taken = [];
  rejected = [];
  acceptance = { rejected: 0, reason: '' };
});

function send(
  path: string,
  headers: Record<string, string>,
  body: Uint8Array | string,
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const req = httpRequest({ port, path, method, headers, agent: false }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('end', () => {
        const type = res.headers['content-type'] ?? '';
        resolve({ status: res.statusCode!, type, body: Buffer.concat(chunks), headers: res.headers });
      });
    });
    req.on('error', reject);
    // Two writes without a length make the body chunked, as gzip bodies of real exporters are.
    req.write(body.slice(0, 1));
    req.end(body.slice(1));
  });
}

const protobuf = { 'content-type': 'application/x-protobuf' };
const json = { 'content-type': 'application/json; charset=utf-8' };
const model: MetricsRequest = {
  resources: [{ attributes: [{ key: 'a', value: 'b' }], scopes: [] }],
};
const body = encodeMetricsRequest(model);

test.each([
  ['plain', {}, body],
  ['gzip, chunked', { 'content-encoding': 'gzip' }, gzipSync(body)],
  ['deflate', { 'content-encoding': 'deflate' }, deflateSync(body)],
  ['zstd', { 'content-encoding': 'zstd' }, zstdCompressSync(body)],
] as const)('takes a protobuf body: %s', async (_how, headers, bytes) => {
  const answer = await send('/v1/metrics', { ...protobuf, ...headers }, bytes);
  expect(answer).toMatchObject({ status: 200, type: 'application/x-protobuf', body: Buffer.alloc(0) });
  expect(taken).toEqual([model]);
});

test('takes JSON and answers in JSON', async () => {
  const answer = await send('/v1/metrics', json, '{"resourceMetrics":[{"resource":{}}]}');
  expect(answer).toMatchObject({ status: 200, type: 'application/json' });
  expect(JSON.parse(answer.body.toString())).toEqual({});
  expect(taken).toEqual([{ resources: [{ attributes: [], scopes: [] }] }]);
});

test('takes an empty body, which exporters send when they have no data', async () => {
  expect(await send('/v1/metrics', protobuf, '')).toMatchObject({ status: 200 });
  expect(taken).toEqual([{ resources: [] }]);
});

test('takes traces at their own path', async () => {
  const traces = { resources: [{ attributes: [], scopes: [] }] };
  expect(await send('/v1/traces', protobuf, encodeTracesRequest(traces))).toMatchObject({ status: 200 });
  expect(taken).toEqual([traces]);
});

test('a partial success names how much was left out and why, in both encodings', async () => {
  acceptance = { rejected: 3, reason: 'too old' };
  const answer = await send('/v1/metrics', json, '{}');
  expect(JSON.parse(answer.body.toString())).toEqual({
    partialSuccess: { rejectedDataPoints: '3', errorMessage: 'too old' },
  });
  const reader = new WireReader((await send('/v1/traces', protobuf, '')).body);
  expect(reader.key()).toBe((1 << 3) | 2);
  const partial = reader.message();
  expect([partial.key() >>> 3, partial.int(), partial.key() >>> 3, partial.string()]).toEqual([1, 3, 2, 'too old']);
});

test.each([
  ['bytes that are not protobuf', '/v1/metrics', protobuf, '\xff\xff', 400, 'malformed', 3],
  ['text that is not JSON', '/v1/traces', json, '{', 400, 'malformed', 3],
  ['a body that is not gzip', '/v1/metrics', { ...protobuf, 'content-encoding': 'gzip' }, 'x', 400, 'malformed', 3],
  ['a body over the cap', '/v1/metrics', protobuf, 'x'.repeat(10_001), 413, 'too_large', 8],
  [
    'a gzip bomb',
    '/v1/metrics',
    { ...protobuf, 'content-encoding': 'gzip' },
    gzipSync(Buffer.alloc(1_000_000)),
    413,
    'too_large',
    8,
  ],
  ['another content type', '/v1/metrics', { 'content-type': 'text/plain' }, 'x', 415, 'content_type', 3],
  ['no content type', '/v1/metrics', {}, 'x', 415, 'content_type', 3],
  ['another encoding', '/v1/metrics', { ...protobuf, 'content-encoding': 'br' }, 'x', 415, 'encoding', 3],
] as const)('refuses %s, counts it and takes nothing', async (_what, path, headers, bytes, status, reason, code) => {
  const answer = await send(path, headers, typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  expect(answer.status).toBe(status);
  expect(rejected).toEqual([[reason, 1]]);
  expect(taken).toEqual([]);
  const asked = 'content-type' in headers && headers['content-type'] === 'application/x-protobuf';
  expect(answer.type).toBe(asked ? 'application/x-protobuf' : 'application/json');
  if (asked) {
    const reader = new WireReader(answer.body);
    expect([reader.key() >>> 3, reader.int(), reader.key() >>> 3]).toEqual([1, code, 2]);
    expect(reader.string()).not.toBe('');
  } else expect(JSON.parse(answer.body.toString())).toMatchObject({ code, message: expect.any(String) as string });
});

test('refuses other methods with 405 and other paths with 404', async () => {
  const put = await send('/v1/metrics', json, '{}', 'PUT');
  expect(put.status).toBe(405);
  expect(put.headers['allow']).toBe('POST');
  expect((await send('/v1/logs', json, '{}')).status).toBe(404);
});

test('a body whose declared length is too large is refused before it is sent', async () => {
  const headers = { ...protobuf, 'content-length': '99999999', expect: '100-continue' };
  const status = await new Promise<number>((resolve, reject) => {
    const req = httpRequest({ port, path: '/v1/metrics', method: 'POST', headers, agent: false }, (res) => {
      res.resume();
      resolve(res.statusCode!);
      req.destroy();
    });
    req.on('error', reject);
    req.flushHeaders();
  });
  expect(status).toBe(413);
});

import { join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, type ServiceError, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { createCa, issueLeaf, type KeyPairPem } from '../../net/ca.ts';
import { closeServer, listen } from '../../net/listen.ts';
import { TlsClient } from '../../net/tls-client.ts';
import { fixedTls } from '../../net/tls-material.ts';
import { until } from '../../testing/until.ts';
import { flowRecord } from '../spans/flow-intake.ts';
import type { SpanRecord } from '../../stream/index.ts';
import { StreamRing } from '../spans/stream-ring.ts';
import { createStreamGrpc } from './stream-grpc.ts';
import { routed } from './routes.ts';
import { streamRoutes } from './stream-server.ts';

const servername = 'svc-agent.svc-system.svc';
const whole: SpanRecord = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  parentSpanId: 'b7ad6b7169203330',
  name: 'GET /users/{id}',
  kind: 'server',
  start: '2026-01-01T00:00:00.000000001Z',
  durationNs: 5_000_000_000,
  status: 'error',
  statusMessage: 'gone',
  namespace: 'shop',
  pod: 'checkout-1',
  container: 'web',
  workload: { kind: 'Deployment', name: 'checkout' },
  service: 'checkout',
  method: 'GET',
  path: '/users/7',
  route: '/users/{id}',
  statusCode: 503,
  attributes: { 'url.scheme': 'http', 'server.address': '10.1.2.3', 'server.port': 8080 },
};

let ca: KeyPairPem;
const leaves = new Map<string, KeyPairPem>();
let port = 0;
let ring: StreamRing;
let lost = 0;
let clients = 0;
let stopAgent: AbortController;
let close: () => Promise<void>;

beforeAll(async () => {
  ca = await createCa({ commonName: 'svc-ca', now: Date.now() });
  for (const commonName of ['svc-agent', 'svc-query', 'intruder']) {
    leaves.set(commonName, await issueLeaf(ca, { commonName, dnsNames: [servername] }, { now: Date.now() }));
  }
});

beforeEach(async () => {
  ring = new StreamRing({ maxBytes: 50_000, maxAgeMs: 1e12 });
  lost = 0;
  stopAgent = new AbortController();
  const options = {
    node: 'node-1',
    podLabels: () => ({ app: 'checkout' }),
    ring,
    clock: systemClock,
    logger: silentLogger,
    onClients: (change: number) => (clients += change),
    onLost: (count: number) => (lost += count),
    signal: stopAgent.signal,
  };
  const grpc = createStreamGrpc(options);
  const server = createTlsServer(
    fixedTls({ ...leaves.get('svc-agent')!, ca: ca.cert }),
    routed(streamRoutes(options)),
    {
      clientNames: ['svc-query'],
      http2: grpc.accept,
    },
  );
  port = await listen('span-stream', server, { host: '127.0.0.1', port: 0 });
  close = async () => {
    stopAgent.abort();
    await grpc.close(500);
    await closeServer(server, 500);
  };
});
afterEach(() => close());

const push = (count: number, name = 'GET /users/{id}'): void => {
  for (let i = 0; i < count; i++) ring.push({ timeMs: Date.now(), bytes: 100, span: { ...whole, name } }, Date.now());
};

interface StreamClient extends Client {
  read: (request: object) => AsyncIterable<Record<string, unknown>> & { cancel: () => void; pause: () => void };
}

/** A client made from the published .proto file, with a gRPC library that knows nothing of our code. */
function grpcClient(as: string): StreamClient {
  const file = join(import.meta.dirname, '../../stream/proto/stream.proto');
  const definition = loadPackageDefinition(loadSync(file, { longs: Number, enums: String, oneofs: true }));
  const { Stream } = (
    definition as unknown as { svc: { stream: { v1: { Stream: new (...a: unknown[]) => StreamClient } } } }
  ).svc.stream.v1;
  const { cert, key } = leaves.get(as)!;
  const creds = credentials.createSsl(Buffer.from(ca.cert), Buffer.from(key), Buffer.from(cert));
  return new Stream(`127.0.0.1:${port}`, creds, { 'grpc.ssl_target_name_override': servername });
}

/** The fields of a filter, as the published file names them. */
function filterFields(): string[] {
  const file = join(import.meta.dirname, '../../stream/proto/stream.proto');
  const { type } = loadSync(file)['svc.stream.v1.Filter'] as unknown as { type: { field: { name: string }[] } };
  return type.field.map(({ name }) => name);
}

async function overHttp(path: string, as = 'svc-query', body?: string): Promise<{ status: number; lines: unknown[] }> {
  const client = new TlsClient(fixedTls({ ...leaves.get(as)!, ca: ca.cert }));
  const answer = await client.request({
    host: '127.0.0.1',
    port,
    servername,
    method: body === undefined ? 'GET' : 'POST',
    path,
    ...(body === undefined ? {} : { body }),
    deadlineMs: 10_000,
    maxBytes: 10_000_000,
  });
  client.close();
  const lines = answer.body
    .toString()
    .split('\n')
    .filter((line) => line !== '');
  return { status: answer.status, lines: lines.map((line) => JSON.parse(line) as unknown) };
}

async function overGrpc(request: object, as = 'svc-query'): Promise<Record<string, unknown>[]> {
  const client = grpcClient(as);
  try {
    const messages = [];
    for await (const message of client.read(request)) messages.push(message);
    return messages;
  } finally {
    client.close();
  }
}

test('a span is the same message over HTTP and over gRPC', async () => {
  push(1);
  const { lines } = await overHttp('/v1/stream');
  expect(lines).toEqual([{ node: 'node-1', time: whole.start, span: whole }]);
  const [message] = await overGrpc({});
  expect(message).toMatchObject({
    node: 'node-1',
    time: whole.start,
    item: 'span',
    span: { ...whole, attributes: { ...whole.attributes, 'server.port': '8080' } },
  });
});

test('a flow is the same message over HTTP and over gRPC', async () => {
  const attributes = Object.entries({
    direction: 'request',
    transport: 'TCP',
    'src.address': '10.0.0.1',
    'src.port': 4000,
    'dst.zone': 'a',
    'k8s.dst.owner.name': 'redis',
    'k8s.dst.owner.type': 'StatefulSet',
    iface: 'eth0',
  }).map(([key, value]) => ({ key, value }));
  const flow = flowRecord(attributes, 1_500, whole.start);
  ring.push({ timeMs: Date.now(), bytes: 1, flow }, Date.now());
  expect((await overHttp('/v1/flows')).lines).toEqual([{ node: 'node-1', time: whole.start, flow }]);
  expect((await overHttp('/v1/spans')).lines).toEqual([]);
  const [message] = await overGrpc({ types: ['flow'] });
  expect(message).toMatchObject({
    item: 'flow',
    flow: {
      direction: 'request',
      protocol: 'TCP',
      bytes: 1_500,
      source: { address: '10.0.0.1', port: 4_000 },
      destination: { zone: 'a', workload: { kind: 'StatefulSet', name: 'redis' } },
      attributes: { iface: 'eth0' },
    },
  });
});

test('a gRPC request takes every field of the .proto file; a contradictory request is INVALID_ARGUMENT', async () => {
  push(3);
  push(1, 'other');
  const filter = {
    namespace: ['shop'],
    pod: ['shop/check'],
    workload: ['Deployment/checkout'],
    labelSelector: ['app=checkout'],
    node: ['node-1'],
    direction: ['ingress'],
    protocol: ['HTTP'],
    method: ['GET'],
    path: ['/users/.*'],
    status: ['5+'],
    minDuration: ['1s'],
    traceId: [whole.traceId],
    ip: ['10.0.0.0/8'],
    port: ['8080'],
    service: ['checkout'],
  };
  const request = { number: 2, since: '1h', until: '2099-01-01T00:00:00Z', include: [filter], types: ['span'] };
  expect((await overGrpc(request)).length).toBe(2);
  // Each field filters: with another value nothing is shown.
  const others: Record<string, string> = {
    ...{ namespace: 'bank', pod: 'shop/cart', workload: 'Deployment/cart', labelSelector: 'app=cart', node: 'node-2' },
    ...{ direction: 'egress', protocol: 'SQL', method: 'POST', path: '/carts', status: '404', minDuration: '1h' },
    ...{ traceId: 'a'.repeat(32), ip: '192.168.0.0/16', port: '9090', service: 'cart' },
  };
  expect(Object.keys(others)).toEqual(filterFields());
  expect(Object.keys(filter).toSorted()).toEqual(filterFields().toSorted());
  for (const [field, other] of Object.entries(others)) {
    expect([field, await overGrpc({ ...request, include: [{ ...filter, [field]: [other] }] })]).toEqual([field, []]);
  }
  const labelled = async (selector: string): Promise<number> =>
    (await overGrpc({ ...request, include: [{ ...filter, labelSelector: [selector] }] })).length;
  expect([await labelled('app in(checkout,cart)'), await labelled('app notin(checkout)')]).toEqual([2, 0]);
  expect(await overGrpc({ ...request, exclude: [{ namespace: ['shop'] }] })).toEqual([]);
  expect((await overGrpc({ all: true })).length).toBe(4);
  await expect(overGrpc({ first: true, follow: true })).rejects.toMatchObject({
    code: status.INVALID_ARGUMENT,
    details: 'first: excludes follow',
  } satisfies Partial<ServiceError>);
});

test('a reader that asks for cursors gets its position, over HTTP and gRPC, and a cursor of another form is refused', async () => {
  push(2);
  const { lines } = await overHttp('/v1/stream?number=1&cursors');
  expect(lines).toMatchObject([{ node_status: { state: 'NODE_CONNECTED' }, cursor: `${ring.id}.2` }, { span: whole }]);
  push(1, 'third');
  const behind = (await overHttp(`/v1/stream?cursors&after=${ring.id}.2`)).lines;
  expect(behind).toMatchObject([{ cursor: `${ring.id}.2` }, { span: { name: 'third' }, cursor: `${ring.id}.3` }]);
  const messages = await overGrpc({ cursors: true, after: `${ring.id}.2`, namespaces: ['shop'] });
  expect(messages.map((message) => message['cursor'])).toEqual([`${ring.id}.2`, `${ring.id}.3`]);
  expect((await overHttp('/v1/stream?after=x')).status).toBe(400);
  await expect(overGrpc({ after: 'x' })).rejects.toMatchObject({ code: status.INVALID_ARGUMENT });
});

test('a POST takes the request as JSON', async () => {
  push(2);
  const { lines } = await overHttp('/v1/stream', 'svc-query', '{"number":1,"include":[{"namespace":["shop"]}]}');
  expect(lines.length).toBe(1);
  expect((await overHttp('/v1/stream', 'svc-query', '{"number":')).status).toBe(400);
  expect((await overHttp('/v1/stream', 'svc-query', '{"colour":1}')).lines).toEqual([
    { code: 'bad_request', message: expect.stringContaining('colour') as string },
  ]);
});

test('a certificate of another client gets 403 and PERMISSION_DENIED', async () => {
  expect((await overHttp('/v1/stream', 'intruder')).status).toBe(403);
  await expect(overGrpc({}, 'intruder')).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
});

test('a follower gets NODE_CONNECTED, then new items, and NODE_UNAVAILABLE when the agent ends', async () => {
  const client = grpcClient('svc-query');
  const seen: unknown[] = [];
  const done = (async () => {
    for await (const message of client.read({ follow: true }))
      seen.push(message['item'] === 'span' ? 'span' : message['nodeStatus']);
  })();
  await until('the first message', () => seen.length === 1);
  push(2);
  await until('the spans', () => seen.length === 3);
  expect(clients).toBe(1);
  stopAgent.abort();
  await done;
  expect(seen).toMatchObject([
    { state: 'NODE_CONNECTED', nodes: ['node-1'] },
    'span',
    'span',
    { state: 'NODE_UNAVAILABLE' },
  ]);
  expect(clients).toBe(0);
  client.close();
});

test('a stalled reader loses items and gets their count, over HTTP and gRPC, and pushing never waits', async () => {
  const client = grpcClient('svc-query');
  const stalled = client.read({ follow: true })[Symbol.asyncIterator]();
  await stalled.next();
  const http = new TlsClient(fixedTls({ ...leaves.get('svc-query')!, ca: ca.cert }));
  const { body } = await http.stream({
    host: '127.0.0.1',
    port,
    servername,
    method: 'GET',
    path: '/v1/stream?follow',
    deadlineMs: 30_000,
    maxBytes: 1e9,
  });
  const lines = body[Symbol.asyncIterator]();
  await lines.next();
  // Far more spans than the connections buffer. A reader that is not stalled could read between the portions.
  for (let i = 0; i < 150; i++) {
    push(200);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const counts = { spans: 0, lost: 0 };
  while (counts.spans + counts.lost < 30_000) {
    const { value } = (await stalled.next()) as { value: Record<string, unknown> };
    if (value['lost']) counts.lost += (value['lost'] as { count: number }).count;
    else counts.spans++;
  }
  expect(counts.lost).toBeGreaterThan(0);
  expect(counts.spans + counts.lost).toBe(30_000);
  const text = { rest: '', spans: 0, lost: 0 };
  while (text.spans + text.lost < 30_000) {
    const parts = (text.rest + String(((await lines.next()) as { value: Buffer }).value)).split('\n');
    text.rest = parts.pop()!;
    for (const part of parts) {
      const message = JSON.parse(part) as { span?: object; lost?: { count: number } };
      if (message.lost) text.lost += message.lost.count;
      else if (message.span) text.spans++;
    }
  }
  expect(text.lost).toBeGreaterThan(0);
  expect(lost).toBe(counts.lost + text.lost);
  client.close();
  http.close();
}, 30_000);

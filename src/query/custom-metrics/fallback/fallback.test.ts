import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { silentLogger } from '../../../base/logger.ts';
import { systemClock } from '../../../base/clock.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { sendJson, startScriptedAdapter, type ScriptedAdapter } from '../../../testing/query/scripted-adapter.ts';
import { createCustomMetricsHandler } from '../api/handler.ts';
import { StatusError } from '../api/status-error.ts';
import type { ResourceAttributes } from '../api/paths.ts';
import { createCustomMetricsMeter } from '../metrics.ts';
import { describedResource } from '../../../api/described-resources.ts';
import { AdapterClient } from './adapter-client.ts';
import { AdapterDiscovery } from './adapter-discovery.ts';
import { maxNames } from './read-names.ts';
import { SecondAdapter } from './second-adapter.ts';

const group = '/apis/custom.metrics.k8s.io';
const custom = `${group}/v1beta2`;
const external = '/apis/external.metrics.k8s.io/v1beta1';
/** Deadlines: `shortMs` for tests that wait for it, `longMs` for all others, so that a slow machine meets it. */
const shortMs = 400;
const longMs = 10_000;
const dir = mkdtempSync(join(tmpdir(), 'fallback-'));
const caFile = join(dir, 'ca.crt');
const tokenFile = join(dir, 'token');

let adapter: ScriptedAdapter;
let server: Server;
let client: AdapterClient;
let limit: { deadlineMs: number };
let discovery: AdapterDiscovery;
let clock: FakeClock;
let registry: Registry;
let reviewed: string[];
let allowed: boolean;
let stopped: AbortController;

beforeAll(async () => {
  adapter = await startScriptedAdapter();
});

afterAll(async () => {
  await adapter.close();
  rmSync(dir, { recursive: true });
});

/** Knows the metric `ours`, of pods and as an external metric. The adapter is asked for all others. */
const service = {
  knows: ({ metric }: { metric: string }) => metric === 'ours',
  custom: async () => {
    if (lackingNode) throw new StatusError(503, 'ServiceUnavailable', 'the metric ours is incomplete');
    return { body: { from: 'us' }, degraded: false };
  },
  external: async () => ({ body: { from: 'us' }, degraded: false }),
};
let lackingNode: boolean;
let missing: string | undefined;

beforeEach(async () => {
  adapter.requests.length = 0;
  adapter.answer = (_req, res) => void res.writeHead(404).end();
  writeFileSync(caFile, adapter.ca);
  writeFileSync(tokenFile, 'own-token\n');
  [reviewed, allowed, lackingNode, missing] = [[], true, false, undefined];
  clock = new FakeClock();
  stopped = new AbortController();
  const options = { url: adapter.url, caFile, tokenFile, clock: systemClock, deadlineMs: longMs };
  client = new AdapterClient(options);
  limit = options;
  discovery = new AdapterDiscovery({ client, external: true, clock, logger: silentLogger });
  registry = new Registry();
  const meter = createCustomMetricsMeter(registry, () => ({}));
  const resource = describedResource('pods')!;
  const handler = createCustomMetricsHandler({
    access: {
      user: async () => ({ username: 'hpa' }),
      check: async (_user, wish) => {
        const { resource, subresource, namespace } = wish as ResourceAttributes;
        reviewed.push([namespace, resource, subresource].join(' '));
        if (!allowed) throw new StatusError(403, 'Forbidden', 'no');
      },
    },
    service,
    fallback: new SecondAdapter({ client, clock: systemClock, logger: silentLogger, meter }),
    offer: () => ({ custom: [{ resource, metric: 'ours' }], external: ['ours'], passedOn: discovery.offer }),
    notReady: () => missing,
    version: '0.1.0',
    clock: systemClock,
    logger: silentLogger,
    meter,
  });
  server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
});

afterEach(async () => {
  stopped.abort();
  client.close();
  await new Promise((resolve) => server.close(resolve));
});

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { message: string };
}

async function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { headers });
  return { status: answer.status, body: (await answer.json()) as Answer['body'] };
}

const timestamp = '2026-01-01T00:00:00Z';
const item = (name: string, metric = 'theirs', namespace: string | undefined = 'ns') => ({
  describedObject: { kind: 'Pod', name, ...(namespace ? { namespace } : {}), apiVersion: '/v1' },
  metric: { name: metric, selector: null },
  timestamp,
  value: '66m',
});
const listOf = (...items: object[]) => ({
  kind: 'MetricValueList',
  apiVersion: 'custom.metrics.k8s.io/v1beta2',
  metadata: {},
  items,
});
const outcomes = async (): Promise<string[]> =>
  (await registry.getMetricsAsJSON())
    .find(({ name }) => name === 'svc_custom_metrics_fallback_duration_seconds')!
    .values.filter((value) => (value as { metricName?: string }).metricName?.endsWith('_count'))
    .map(({ labels }) => labels['outcome'] as string);

describe('a metric that this server does not know', () => {
  test('is requested from the second adapter by the same path and query, after an access review', async () => {
    const list = listOf(item('a'), item('b'));
    adapter.answer = (_req, res) => sendJson(res, 200, list);
    const path = `${custom}/namespaces/ns/pods/*/theirs?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET`;
    expect(await get(path)).toEqual({ status: 200, body: list });
    expect(adapter.requests.map(({ url }) => url)).toEqual([path]);
    expect(reviewed).toEqual(['ns pods theirs']);
    expect(await outcomes()).toEqual(['answered']);
  });

  test.each([
    ['one object', `${custom}/namespaces/ns/pods/a/theirs`, listOf(item('a'))],
    ['a kind that no captured series names', `${custom}/namespaces/ns/services/a/theirs`, listOf(item('a'))],
    ['a kind of an API group', `${custom}/namespaces/ns/ingresses.networking.k8s.io/a/theirs`, listOf(item('a'))],
    ['a cluster-scoped kind', `${custom}/persistentvolumes/a/theirs`, listOf(item('a', 'theirs', ''))],
    ['a metric of a namespace', `${custom}/namespaces/ns/metrics/theirs`, listOf(item('ns', 'theirs', ''))],
    [
      'the older API version',
      `${group}/v1beta1/namespaces/ns/pods/*/theirs`,
      {
        kind: 'MetricValueList',
        apiVersion: 'custom.metrics.k8s.io/v1beta1',
        items: [{ describedObject: { name: 'a', namespace: 'ns' }, metricName: 'theirs', timestamp, value: '2' }],
      },
    ],
    [
      'an external metric',
      `${external}/namespaces/ns/theirs?labelSelector=queue%3Da`,
      {
        kind: 'ExternalMetricValueList',
        apiVersion: 'external.metrics.k8s.io/v1beta1',
        items: [{ metricName: 'theirs', metricLabels: { queue: 'a' }, timestamp, value: '1k' }],
      },
    ],
  ])('is requested from the second adapter: %s', async (_, path, list) => {
    adapter.answer = (_req, res) => sendJson(res, 200, list);
    expect(await get(path)).toEqual({ status: 200, body: list });
    expect(adapter.requests.map(({ url }) => url)).toEqual([path]);
  });

  test('is requested with our own token, without any header of the caller', async () => {
    const caller = { authorization: 'Bearer theirs', 'x-remote-user': 'hpa', 'x-remote-group': 'a', cookie: 'a=b' };
    await get(`${custom}/namespaces/ns/pods/*/theirs`, caller);
    const { headers } = adapter.requests[0]!;
    expect(headers.authorization).toBe('Bearer own-token');
    expect(Object.keys(headers).sort()).toEqual([
      ...['accept', 'authorization', 'connection', 'host', 'user-agent', 'x-svc-passed-on'],
    ]);
  });

  test('is not requested for a caller without permission', async () => {
    allowed = false;
    expect((await get(`${custom}/namespaces/ns/pods/*/theirs`)).status).toBe(403);
    expect((await get(`${custom}/namespaces/ns/services/a/theirs`)).status).toBe(403);
    expect(adapter.requests).toEqual([]);
  });

  test('gives our own 404 or an empty external list if the adapter does not know it either', async () => {
    const { status, body } = await get(`${custom}/namespaces/ns/services/a/theirs`);
    const message = 'the server could not find the metric theirs for services a';
    expect([status, body]).toEqual([404, expect.objectContaining({ kind: 'Status', reason: 'NotFound', message })]);
    expect((await get(`${external}/namespaces/ns/theirs`)).body).toMatchObject({ items: [] });
    expect(await outcomes()).toEqual(['unknown']);
  });

  test('is not requested while our own list of metrics is incomplete', async () => {
    missing = 'the list of TrafficMonitors is not complete';
    expect((await get(`${custom}/namespaces/ns/pods/*/theirs`)).status).toBe(503);
    expect(adapter.requests).toEqual([]);
  });

  test('is not requested by a path that another server could decode differently', async () => {
    for (const name of ['a%2Fb', '%252e%252e%252fb', 'a%5Cb', 'a%00', 'a%3Fb']) {
      expect((await get(`${custom}/namespaces/ns/pods/${name}/theirs`)).status).toBe(404);
    }
    expect(adapter.requests).toEqual([]);
  });
});

test('a metric of our own is never requested from the adapter, not even while a node is missing', async () => {
  expect((await get(`${custom}/namespaces/ns/pods/*/ours`)).body).toEqual({ from: 'us' });
  expect((await get(`${external}/namespaces/ns/ours`)).body).toEqual({ from: 'us' });
  lackingNode = true;
  expect((await get(`${custom}/namespaces/ns/pods/*/ours`)).status).toBe(503);
  expect(adapter.requests).toEqual([]);
});

describe('an adapter', () => {
  const path = `${custom}/namespaces/ns/pods/*/theirs`;

  test.each<[string, ScriptedAdapter['answer'], string, string, number]>([
    ['hangs', () => {}, 'timeout', 'no answer within 0.4 s', 1],
    [
      'sends an answer that never ends',
      (_req, res) => void res.writeHead(200).write('{"kind":'),
      'timeout',
      'no answer within 0.4 s',
      1,
    ],
    ['fails', (_req, res) => sendJson(res, 500, { message: 'secret detail' }), 'failed', 'HTTP 500', 1],
    ['is overloaded twice', (_req, res) => sendJson(res, 503, {}), 'failed', 'HTTP 503', 2],
    [
      'does not let us read',
      (_req, res) => sendJson(res, 403, {}),
      'refused',
      'it does not let this query server read (HTTP 403)',
      1,
    ],
    [
      'redirects',
      (_req, res) => void res.writeHead(302, { location: 'https://other.example/' }).end(),
      'failed',
      'HTTP 302',
      1,
    ],
    ['sends too much', (_req, res) => void res.end(Buffer.alloc(17 * 1024 * 1024, 32)), 'invalid', 'too large', 1],
    ['does not send JSON', (_req, res) => void res.end('<html>'), 'invalid', 'its answer is not JSON', 1],
    [
      'sends what takes a multiple of its size to parse',
      (_req, res) => void res.end('['.repeat(1_000_000)),
      'invalid',
      'its answer is nested deeper than 1000',
      1,
    ],
    [
      'answers with another kind',
      (_req, res) => sendJson(res, 200, { ...listOf(), kind: 'PodList' }),
      'invalid',
      'kind: "PodList", not MetricValueList',
      1,
    ],
    [
      'answers in another API version',
      (_req, res) => sendJson(res, 200, { ...listOf(), apiVersion: 'custom.metrics.k8s.io/v1beta1' }),
      'invalid',
      'apiVersion: "custom.metrics.k8s.io/v1beta1", not custom.metrics.k8s.io/v1beta2',
      1,
    ],
    [
      'answers for another namespace',
      (_req, res) => sendJson(res, 200, listOf(item('a'), item('b', 'theirs', 'other'))),
      'invalid',
      'items[1].describedObject.namespace: "other", not ns',
      1,
    ],
    [
      'answers with another metric',
      (_req, res) => sendJson(res, 200, listOf(item('a', 'other'))),
      'invalid',
      'items[0].metric: "other", not theirs',
      1,
    ],
    [
      'answers with a value that is not a quantity',
      (_req, res) => sendJson(res, 200, listOf({ ...item('a'), value: 'NaN' })),
      'invalid',
      'items[0].value: not a quantity',
      1,
    ],
    ['closes the connection twice', (_req, res) => void res.destroy(), 'unreachable', 'socket hang up', 2],
  ])('that %s is named in a 503', async (_, answer, outcome, reason, requests) => {
    adapter.answer = answer;
    if (outcome === 'timeout') limit.deadlineMs = shortMs;
    const { status, body } = await get(path);
    expect([status, body]).toMatchObject([503, { kind: 'Status', reason: 'ServiceUnavailable', code: 503 }]);
    expect(body.message).toContain(`the metric theirs is asked of the second adapter ${adapter.url}, which failed: `);
    expect(body.message).toContain(reason);
    expect(body.message).not.toContain('secret');
    expect([await outcomes(), adapter.requests.length]).toEqual([[outcome], requests]);
  });

  test('that fails once is asked again', async () => {
    adapter.answer = (_req, res) =>
      adapter.requests.length === 1 ? sendJson(res, 503, {}) : sendJson(res, 200, listOf(item('a')));
    expect((await get(path)).status).toBe(200);
    expect(adapter.requests).toHaveLength(2);
  });

  test('that refuses the request leads to a 400, which names the adapter but omits its message', async () => {
    adapter.answer = (_req, res) => sendJson(res, 400, { message: 'unable to parse' });
    const { status, body } = await get(path);
    expect([status, body.message]).toEqual([
      400,
      `the second adapter ${adapter.url} refuses the request for the metric theirs`,
    ]);
  });

  test('that hangs gets at most 64 requests at a time', async () => {
    const held: (() => void)[] = [];
    adapter.answer = (_req, res) => void held.push(() => sendJson(res, 200, listOf()));
    const many = Array.from({ length: 64 }, () => get(path));
    await until('64 requests', () => held.length === 64);
    const { status, body } = await get(path);
    expect([status, body.message]).toEqual([
      503,
      expect.stringContaining('64 of our requests to it are in flight already'),
    ]);
    for (const release of held) release();
    expect((await Promise.all(many)).every((one) => one.status === 200)).toBe(true);
  }, 10_000);

  test('whose certificate has another name or CA is not trusted', async () => {
    const ip = new AdapterClient({
      ...{ url: adapter.url.replace('localhost', '127.0.0.1'), caFile, tokenFile },
      ...{ clock: systemClock, deadlineMs: longMs },
    });
    await expect(ip.get('/', 1_000)).rejects.toMatchObject({
      outcome: 'unreachable',
      message: /not in the cert's list/,
    });
    const bySystem = new AdapterClient({
      url: adapter.url,
      caFile: '',
      tokenFile,
      clock: systemClock,
      deadlineMs: longMs,
    });
    await expect(bySystem.get('/', 1_000)).rejects.toMatchObject({ outcome: 'unreachable', message: /certificate/ });
    expect(adapter.requests).toEqual([]);
    ip.close();
    bySystem.close();
  });
});

test('a rotated certificate is trusted once the file has its CA, and the next request has the new token', async () => {
  adapter.answer = (_req, res) => sendJson(res, 200, listOf(item('a')));
  const path = `${custom}/namespaces/ns/pods/*/theirs`;
  expect((await get(path)).status).toBe(200);
  const old = adapter.ca;
  await adapter.rotate();
  const { status, body } = await get(path);
  expect([status, body.message]).toEqual([503, expect.stringMatching(/certificate|signature/)]);
  writeFileSync(caFile, `${old}${adapter.ca}`);
  writeFileSync(tokenFile, 'next-token');
  expect((await get(path)).status).toBe(200);
  expect(adapter.requests.at(-1)!.headers.authorization).toBe('Bearer next-token');
  rmSync(tokenFile);
  expect((await get(path)).body.message).toMatch(/it cannot be asked: .*ENOENT/);
});

describe('a query server as its own second adapter', () => {
  test('refuses a request that was already passed on, and names the flag', async () => {
    const { status, body } = await get(`${custom}/namespaces/ns/pods/*/ours`, { 'x-svc-passed-on': '1' });
    expect([status, body['reason']]).toEqual([508, 'LoopDetected']);
    expect(body.message).toContain('its --custom-metrics-fallback leads to a query server');
  });

  test('is named in the 503 to the client', async () => {
    adapter.answer = (_req, res) => sendJson(res, 508, {});
    const { status, body } = await get(`${custom}/namespaces/ns/pods/*/theirs`);
    expect([status, body.message]).toEqual([503, expect.stringContaining('it is a query server like this one')]);
    expect(await outcomes()).toEqual(['loop']);
  });
});

describe('discovery', () => {
  const resources = (...names: string[]) => names.map((name) => ({ name, namespaced: name.startsWith('pods') }));
  const listed = (groupVersion: string, ...names: string[]) => ({
    kind: 'APIResourceList',
    groupVersion,
    resources: resources(...names),
  });
  const names = async (path: string): Promise<string[]> =>
    ((await get(path)).body['resources'] as { name: string }[]).map(({ name }) => name);

  test('lists the metrics of the adapter and our own, each once', async () => {
    adapter.answer = ({ url = '' }, res) => {
      const version = url.slice('/apis/'.length);
      if (url === external) return sendJson(res, 200, listed(version, 'queue', 'ours'));
      const all = ['pods/theirs', 'pods/ours', 'nodes/load', 'services/b', 'bad', 'pods/a b'];
      return sendJson(res, 200, listed(version, ...(url === custom ? all : ['pods/old'])));
    };
    void discovery.run(stopped.signal);
    await until('what the adapter offers', () => discovery.offer.external.length > 0);
    expect(await names(custom)).toEqual(['nodes/load', 'pods/ours', 'pods/theirs', 'services/b']);
    expect(await names(`${group}/v1beta1`)).toEqual(['pods/old', 'pods/ours']);
    expect(discovery.size).toBe(5);
    expect(await names(external)).toEqual(['ours', 'queue']);
    const type = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const { body } = await get('/apis', { accept: type });
    expect(JSON.stringify(body)).toContain('"resource":"services","scope":"Cluster"');
  });

  test('does not wait for an adapter that hangs, and keeps its last answer for ten minutes', async () => {
    expect(await names(custom)).toEqual(['pods/ours']);
    adapter.answer = ({ url = '' }, res) => sendJson(res, 200, listed(url.slice('/apis/'.length), 'pods/theirs'));
    void discovery.run(stopped.signal);
    await until('what the adapter offers', () => discovery.offer.custom.v1beta2.length > 0);
    adapter.answer = () => {};
    limit.deadlineMs = shortMs;
    await clock.advance(60_000);
    await until('another round', () => adapter.requests.length >= 6);
    expect(await names(custom)).toEqual(['pods/ours', 'pods/theirs']);
    adapter.answer = (_req, res) => sendJson(res, 500, {});
    await until('the end of the wait', () => clock.pending > 0);
    for (let i = 0; i < 60; i++) {
      const before = adapter.requests.length;
      await clock.advance(10_000);
      await until('one more round', () => adapter.requests.length >= before + 3 && clock.pending > 0);
    }
    expect(await names(custom)).toEqual(['pods/ours']);
  }, 15_000);

  test('ends immediately when the server stops, even in the middle of a request', async () => {
    adapter.answer = () => {};
    const ended = discovery.run(stopped.signal);
    await until('questions', () => adapter.requests.length >= 3);
    stopped.abort();
    client.close();
    await ended;
  });

  test('keeps at most maxNames metrics of the adapter', async () => {
    const many = Array.from({ length: maxNames + 5 }, (_, i) => `pods/m${i}`);
    adapter.answer = ({ url = '' }, res) =>
      url === custom
        ? sendJson(res, 200, listed('custom.metrics.k8s.io/v1beta2', ...many))
        : void res.writeHead(404).end();
    void discovery.run(stopped.signal);
    await until('what the adapter offers', () => discovery.offer.custom.v1beta2.length > 0);
    expect(discovery.offer.custom.v1beta2).toHaveLength(maxNames);
    expect(discovery.offer.custom.v1beta1).toEqual([]);
  });
});

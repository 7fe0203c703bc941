import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/logger.ts';
import { createRemoteReadHandler, labelsFromObject, openStore } from '../../tsdb/index.ts';
import type { Store } from '../../tsdb/index.ts';
import { startQueryStage } from '../../testing/query/query-stage.ts';
import { askApi } from '../../testing/query/api-client.ts';
import type { QueryStage } from '../../testing/query/query-stage.ts';
import { MemoryFiles } from '../../testing/tsdb/memory-files.ts';

/** Each series has a sample every 30 s of an hour: the last 40 minutes in the agents, the first 40 in the store. */

const end = Math.floor(Date.now() / 60_000) * 60_000;
const nodes = ['node-1', 'node-2'];
let stage: QueryStage;
let store: Store;
let remote: Server;
let asked: number;
let misbehave: ((req: IncomingMessage, res: ServerResponse) => void) | undefined;

beforeAll(async () => {
  store = await openStore({ dir: '/long', files: new MemoryFiles(), clock: systemClock, logger: silentLogger });
  const read = createRemoteReadHandler(store);
  remote = createServer((req, res) => {
    asked++;
    if (misbehave) return misbehave(req, res);
    void (async () => {
      const parts: Buffer[] = [];
      for await (const part of req) parts.push(part as Buffer);
      const answer = await read({ headers: req.headers, body: Buffer.concat(parts) });
      res.writeHead(answer.status, answer.headers);
      for await (const part of answer.body) res.write(part);
      res.end();
    })();
  }).listen(0, '127.0.0.1');
  await once(remote, 'listening');
  stage = await startQueryStage({ nodes, flags: flags() });
  for (const [n, node] of nodes.entries()) {
    for (let k = 0; k <= 120; k++) {
      const t = end - (120 - k) * 30_000;
      const labels = { __name__: 'c_total', s: 'x' };
      if (k <= 80) store.append(labelsFromObject({ ...labels, k8s_node_name: node }), t, k * 30 * (n + 1));
      if (k >= 40) stage.cluster.append(node, labels, t, k * 30 * (n + 1));
    }
  }
  for (let k = 0; k <= 80; k++) {
    const labels = { __name__: 'torn', s: 'x', k8s_node_name: 'node-1', replica: 'a' };
    store.append(labelsFromObject(labels), end - (120 - k) * 30_000, k);
  }
  for (let k = 40; k <= 120; k++)
    stage.cluster.append('node-1', { __name__: 'torn', s: 'x' }, end - (120 - k) * 30_000, k);
  store.append(labelsFromObject({ __name__: 'gone', k8s_node_name: 'node-0' }), end - 50 * 60_000, 7);
});
afterAll(async () => {
  remote.close();
  await stage.close();
  await store.close();
});
beforeEach(() => {
  misbehave = undefined;
  asked = 0;
});

const flags = (): Record<string, string> => {
  const { port } = remote.address() as { port: number };
  return { longTermUrl: `http://127.0.0.1:${port}`, longTermAfter: '30m', queryTimeout: '5s' };
};
const matrix = async (query: string, from: number, more: Record<string, string> = {}): Promise<[number, string][]> => {
  const params = { query, start: String((end - from * 60_000) / 1000), end: String(end / 1000), step: '30s', ...more };
  const { json } = await stage.ask('/api/v1/query_range', params);
  return (json.data as { result: { values: [number, string][] }[] }).result[0]?.values ?? [];
};

test('a range across the boundary has neither gap nor jump: counts, sums and rates are what one store would give', async () => {
  const counts = await matrix('count_over_time(c_total{k8s_node_name="node-1"}[5m])', 55);
  expect(counts).toHaveLength(111);
  expect(new Set(counts.map(([, v]) => v))).toEqual(new Set(['10']));
  const rates = await matrix('sum(rate(c_total[5m]))', 55);
  expect(rates).toHaveLength(111);
  expect(new Set(rates.map(([, v]) => v))).toEqual(new Set(['3']));
  const raw = await matrix('sum(c_total)', 60);
  expect(raw.map(([, v]) => Number(v))).toEqual(Array.from({ length: 121 }, (_, k) => k * 90));
});

test.each([
  ['stddev(rate(c_total{k8s_node_name="node-1"}[5m])) + sum(c_total{k8s_node_name="node-1"})', 'whole', '3600'],
  ['stddev(c_total{k8s_node_name="node-1"}) + sum(c_total{k8s_node_name="node-1"} offset 50m)', 'agg', '600'],
  ['stddev(c_total{k8s_node_name="node-1"}) + sum(max_over_time(c_total{k8s_node_name="node-1"}[1h]))', 'agg', '3600'],
])(
  'a query of one node is sent to its agent as a whole only if it reads nothing but recent samples: %s',
  async (query, path, value) => {
    const { json, headers } = await stage.ask('/api/v1/query', { query, time: String(end / 1000) });
    expect([headers['x-svc-pushdown'], json.data]).toMatchObject([path, { result: [{ value: [end / 1000, value] }] }]);
  },
);

test('queries of recent times do not ask the store, and those of old times ask no agent', async () => {
  await matrix('sum(rate(c_total[5m]))', 10);
  expect(asked).toBe(0);
  const before = stage.cluster.agents.map((a) => a.requests);
  const { json } = await stage.ask('/api/v1/query', { query: 'sum(c_total)', time: String(end / 1000 - 3000) });
  expect(json).toMatchObject({ data: { result: [{ value: [end / 1000 - 3000, '1800'] }] }, degraded: false });
  expect([asked, stage.cluster.agents.map((a) => a.requests)]).toEqual([1, before]);
});

test('series, labels and values of older times come from the store too', async () => {
  const times = { start: String(end / 1000 - 3600), end: String(end / 1000) };
  expect((await stage.ask('/api/v1/label/__name__/values', times)).json.data).toEqual(['c_total', 'gone', 'torn']);
  const series = await stage.ask('/api/v1/series', { 'match[]': 'c_total', ...times });
  expect(series.json.data).toHaveLength(2);
});

test('series to which the store adds a label cause a warning, because they count twice at the boundary', async () => {
  const params = { query: 'sum(torn)', start: String(end / 1000 - 3600), end: String(end / 1000), step: '30s' };
  const { json } = await stage.ask('/api/v1/query_range', params);
  expect(json.warnings).toEqual([
    expect.stringMatching(/have no label replica: name what the store adds in --long-term-labels/),
  ]);
  const { port } = await stage.replica({ flags: { ...flags(), longTermLabels: 'replica' } });
  const named = await askApi({ port, ca: stage.cluster.ca.cert }, '/api/v1/query_range', params);
  expect(named.json).not.toHaveProperty('warnings');
  const { values } = (named.json.data as { result: { values: [number, string][] }[] }).result[0]!;
  expect(values.map(([, v]) => Number(v))).toEqual(Array.from({ length: 121 }, (_, k) => k));
});

test.each<[string, (req: IncomingMessage, res: ServerResponse) => void, RegExp, number]>([
  ['away', (_q, r) => r.destroy(), /unreachable after/, 2],
  ['overloaded', (_q, r) => r.writeHead(503).end('busy'), /over limit after \d+ ms: HTTP 503: busy/, 2],
  ['refusing', (_q, r) => r.writeHead(401).end(), /auth after/, 1],
  ['a different server', (_q, r) => r.writeHead(200, { 'content-type': 'text/html' }).end('<p>'), /protocol after/, 1],
])(
  'a store that is %s makes the answer degraded, and the samples of the agents remain',
  async (_, breakIt, reason, times) => {
    misbehave = breakIt;
    const params = { query: 'sum(c_total)', start: String(end / 1000 - 3600), end: String(end / 1000), step: '30s' };
    const { status, json } = await stage.ask('/api/v1/query_range', params);
    expect([status, json.degraded, json.missingNodes, asked]).toEqual([200, true, ['long-term-store'], times]);
    expect(json.warnings![0]).toMatch(reason);
    const values = (json.data as { result: { values: [number, string][] }[] }).result[0]!.values;
    expect(values.at(-1)![1]).toBe('10800');
    expect(values.length).toBeLessThan(75);
    const strict = await stage.ask('/api/v1/query_range', { ...params, partial_response: 'false' });
    expect(strict.status).toBe(503);
  },
);

test('a transient failure is retried and not reported', async () => {
  misbehave = (_q, r) => {
    misbehave = undefined;
    r.writeHead(502).end();
  };
  const params = { query: 'sum(c_total)', start: String(end / 1000 - 3600), end: String(end / 1000), step: '30s' };
  const { json } = await stage.ask('/api/v1/query_range', params);
  expect(json).toMatchObject({ degraded: false, missingNodes: [] });
  expect(json).not.toHaveProperty('warnings');
  expect((json.data as { result: { values: unknown[] }[] }).result[0]!.values).toHaveLength(121);
  expect(asked).toBe(2);
});

test('a store that hangs is given up in time for an answer without it', async () => {
  misbehave = () => {};
  const { json } = await stage.ask('/api/v1/query', {
    query: 'c_total[1h]',
    time: String(end / 1000),
    timeout: '1s',
  });
  expect(json).toMatchObject({ degraded: true, missingNodes: ['long-term-store'] });
  // Samples that are younger than half an hour come from the agents of both nodes.
  const { result } = json.data as { result: { values: unknown[] }[] };
  expect(result.map(({ values }) => values.length > 30)).toEqual([true, true]);
});

/** Each selector is a separate request to the store. The second selector's request fails, and so does its retry. */
function loseTheStore(): void {
  const original = remote.listeners('request')[0] as (req: IncomingMessage, res: ServerResponse) => void;
  let n = 0;
  misbehave = (req, res) => {
    if (n++ > 0) return void res.destroy();
    misbehave = undefined;
    original(req, res);
    misbehave = (_q, r) => r.destroy();
  };
}
const twoSelectors = {
  query:
    'count_over_time(c_total{k8s_node_name="node-1"}[1h]) + on () count_over_time(c_total{k8s_node_name="node-2"}[1h])',
  time: String(end / 1000),
};

test('a store that is lost in the middle of a query is left out of the whole query', async () => {
  loseTheStore();
  const { json } = await stage.ask('/api/v1/query', twoSelectors);
  expect(json.missingNodes).toEqual(['long-term-store']);
  const { result } = json.data as { result: { value: [number, string] }[] };
  expect(Number(result[0]!.value[1])).toBeLessThan(125);
  expect(Number(result[0]!.value[1]) % 2).toBe(0);
});

test('the evaluation that leaves out a lost store has the full sample budget again', async () => {
  // The query reads 60 samples three times until the store is lost, and twice after that: more than 250 in all.
  const { port } = await stage.replica({ flags: { ...flags(), maxSamples: '250' } });
  loseTheStore();
  const { status, json } = await askApi({ port, ca: stage.cluster.ca.cert }, '/api/v1/query', twoSelectors);
  expect([status, json.missingNodes]).toEqual([200, ['long-term-store']]);
});

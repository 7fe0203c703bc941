import { buildStreamedRead, labelsFromObject } from '../tsdb/index.ts';
import { startQueryStage } from '../testing/query/query-stage.ts';
import type { QueryStage } from '../testing/query/query-stage.ts';
import type { ApiAnswer, ApiParams } from '../testing/query/api-client.ts';
import { request } from 'node:https';

const now = Math.floor(Date.now() / 1000) * 1000;
const at = String(now / 1000);
const rights: Record<string, readonly string[] | 'all'> = {
  admin: 'all',
  shop: ['shop'],
  two: ['shop', 'bank'],
  none: [],
};
const reviewed: string[] = [];
let broken = false;
let stage: QueryStage;

beforeAll(async () => {
  stage = await startQueryStage({
    nodes: ['node-1', 'node-2'],
    flags: { tenancy: 'true' },
    reviews: { reviewToken: async (token) => ({ username: token }), mayAccessPath: async () => true },
    tenants: {
      reviews: {
        mayReadPods: async ({ username }, namespace) => {
          if (broken) throw new Error('the API server is away');
          reviewed.push(`${username} ${namespace ?? '*'}`);
          const allowed = rights[username]!;
          return allowed === 'all' || (namespace !== undefined && allowed.includes(namespace));
        },
      },
      namespaces: { synced: true, names: () => ['bank', 'shop', 'zoo'] },
    },
  });
  for (const namespace of ['shop', 'zoo']) {
    const labels = labelsFromObject({ __name__: 'requests_total', k8s_namespace_name: namespace });
    stage.cluster.agents[0]!.exemplars.add({ labels }, { timeNs: now * 1e6, value: 1, traceId: 'a', spanId: '' });
  }
  for (const [i, node] of ['node-1', 'node-2'].entries()) {
    stage.cluster.append(node, { __name__: 'svc_agent_up' }, now, 1);
    for (const ns of ['bank', 'shop', 'zoo']) {
      stage.cluster.append(
        node,
        { __name__: 'requests_total', k8s_namespace_name: ns, [`only_${ns}`]: 'x' },
        now,
        i + 1,
      );
    }
    for (const [src, dst] of [
      ['shop', 'zoo'],
      ['bank', 'shop'],
      ['bank', 'zoo'],
    ] as const) {
      const labels = { __name__: 'ebpf_network_flow_bytes', k8s_src_namespace: src, k8s_dst_namespace: dst };
      stage.cluster.append(node, labels, now, 10);
    }
  }
});
afterAll(() => stage.close());
beforeEach(() => {
  broken = false;
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

const ask = (user: string, path: string, params: ApiParams = {}): Promise<ApiAnswer> =>
  stage.ask(path, params, { headers: { authorization: `Bearer ${user}` } });
const value = async (user: string, query: string): Promise<string | undefined> => {
  const { json } = await ask(user, '/api/v1/query', { query, time: at });
  return (json.data as { result: { value: [number, string] }[] }).result[0]?.value[1];
};

test.each([
  ['admin', '18', '60', '2'],
  ['two', '12', '60', undefined],
  ['shop', '6', '40', undefined],
  ['none', undefined, undefined, undefined],
])('user %s sees the series of its namespaces, and flows with an end in one', async (user, requests, flows, up) => {
  expect(await value(user, 'sum(requests_total) + sum(requests_total)')).toBe(requests);
  expect(await value(user, 'sum(ebpf_network_flow_bytes)')).toBe(flows);
  expect(await value(user, 'sum(svc_agent_up)')).toBe(up);
});

test('with tenancy, a connection from loopback needs a token too', async () => {
  expect((await stage.ask('/api/v1/query', { query: 'svc_agent_up', time: at })).status).toBe(401);
});

test.each([
  'requests_total{k8s_namespace_name="zoo"}',
  '{__name__=~".+", k8s_namespace_name=~"zoo|bank"}',
  'requests_total{k8s_namespace_name!="shop"}',
  'sum_over_time(requests_total{k8s_namespace_name="zoo"}[5m])',
  'max_over_time(requests_total{k8s_namespace_name="zoo"}[5m:1s])',
  'label_replace(requests_total{only_zoo="x"}, "k8s_namespace_name", "shop", "", "")',
  'requests_total{k8s_namespace_name="zoo"} @ end()',
  'ebpf_network_flow_bytes{k8s_src_namespace="bank",k8s_dst_namespace="zoo"}',
])('no query reaches into another namespace: %s', async (query) => {
  expect((await ask('shop', '/api/v1/query', { query, time: at })).json.data).toMatchObject({ result: [] });
  const { result } = (await ask('admin', '/api/v1/query', { query, time: at })).json.data as { result: unknown[] };
  expect(result.length).toBeGreaterThan(0);
});

test('lists of series, labels and values, metadata, federation and the store status show no other namespace', async () => {
  const everything = { 'match[]': '{__name__=~".+"}' };
  const series = (await ask('shop', '/api/v1/series', everything)).json.data as Record<string, string>[];
  expect(series).toHaveLength(6);
  expect(series.every((s) => Object.values(s).includes('shop'))).toBe(true);
  const labels = (await ask('shop', '/api/v1/labels')).json.data as string[];
  expect(labels.filter((l) => l.startsWith('only_'))).toEqual(['only_shop']);
  expect((await ask('shop', '/api/v1/label/k8s_namespace_name/values')).json.data).toEqual(['shop']);
  expect((await ask('none', '/api/v1/label/__name__/values')).json.data).toEqual([]);
  expect(Object.keys((await ask('shop', '/api/v1/metadata')).json.data as object)).toEqual(['ebpf_network_flow_bytes']);
  const range = { query: '{__name__=~".+"}', start: '0', end: at };
  const exemplars = (await ask('shop', '/api/v1/query_exemplars', range)).json.data as { seriesLabels: object }[];
  expect(exemplars.map(({ seriesLabels }) => seriesLabels)).toEqual([
    { __name__: 'requests_total', k8s_namespace_name: 'shop', k8s_node_name: 'node-1' },
  ]);
  const { text } = await ask('shop', '/federate', everything);
  expect(text.match(/^[a-z].*$/gm)).toHaveLength(6);
  expect(text).not.toMatch(/only_zoo|only_bank|svc_agent_up/);
  const status = (await ask('shop', '/api/v1/status/tsdb')).json.data as { headStats: { numSeries: number } };
  expect(status.headStats.numSeries).toBe(6);
  const targets = (await ask('shop', '/api/v1/targets')).json.data as { activeTargets: unknown[] };
  expect(targets.activeTargets).toEqual([]);
  expect((await ask('shop', '/api/v1/targets/metadata')).json.data).toEqual([]);
});

test('remote read shows no other namespace', async () => {
  const matchers = [{ type: '=~' as const, name: '__name__', value: '.+' }];
  const { headers, body } = buildStreamedRead([{ startMs: now - 60_000, endMs: now + 60_000, matchers }]);
  const text = await new Promise<string>((resolve, reject) => {
    const { ca } = stage.cluster;
    const options = { host: '127.0.0.1', servername: 'localhost', port: stage.server.port, ca: ca.cert };
    const all = { ...headers, authorization: 'Bearer shop' };
    request({ ...options, path: '/api/v1/read', method: 'POST', headers: all }, (res) => {
      let seen = '';
      res
        .setEncoding('latin1')
        .on('data', (part: string) => (seen += part))
        .on('end', () => resolve(seen));
    })
      .on('error', reject)
      .end(body);
  });
  expect(text).toContain('only_shop');
  expect(text).not.toMatch(/only_zoo|only_bank|svc_agent_up/);
});

test('reviews of a user are cached, and a user who may read all pods is not reviewed for each namespace', async () => {
  reviewed.length = 0;
  rights['fresh'] = ['zoo'];
  rights['boss'] = 'all';
  await Promise.all([1, 2, 3].map(() => value('fresh', 'sum(requests_total)')));
  await value('boss', 'sum(requests_total)');
  expect(reviewed.sort()).toEqual(['boss *', 'fresh *', 'fresh bank', 'fresh shop', 'fresh zoo']);
});

test('while reviews fail, queries are unavailable', async () => {
  broken = true;
  rights['late'] = ['shop'];
  const answer = await ask('late', '/api/v1/query', { query: 'requests_total' });
  expect([answer.status, answer.json.errorType]).toEqual([503, 'unavailable']);
  broken = false;
  expect(await value('late', 'sum(requests_total)')).toBe('3');
});

test('of a name that ends like a part of a histogram, a restricted caller gets the metadata of its own metric', async () => {
  const entry = (type: string): object[] => [{ type, help: '', unit: '' }];
  const sent = { wait: entry('histogram'), pool: entry('gauge'), pool_count: entry('gauge') };
  const agent = stage.cluster.agents[0]!;
  stage.cluster.append('node-1', { __name__: 'wait_count', k8s_namespace_name: 'zoo' }, now, 1);
  stage.cluster.append('node-1', { __name__: 'pool_count', k8s_namespace_name: 'zoo' }, now, 1);
  agent.misbehave = (req, res) =>
    req.url === '/api/v1/metadata'
      ? void res.end(JSON.stringify({ status: 'success', data: sent }))
      : agent.serve(req, res);
  rights['zoo'] = ['zoo'];
  const names = Object.keys((await ask('zoo', '/api/v1/metadata')).json.data as object);
  expect(names).toEqual(['ebpf_network_flow_bytes', 'pool_count', 'wait']);
});

test.each(['/api/v1/services', '/api/v1/metadata'])(
  '%s asks the agents more than once, and tells once why a node is missing',
  async (path) => {
    let asked = 0;
    stage.cluster.agents[1]!.misbehave = (_req, res) => void res.writeHead(403).end(`refusal ${++asked}`);
    const { json } = await ask('shop', path);
    expect(json.missingNodes).toEqual(['node-2']);
    expect(asked).toBeGreaterThan(1);
    expect(json.warnings).toEqual([
      expect.stringMatching(/^node node-2 is missing from this answer: auth .*refusal \d/),
    ]);
  },
);

test('the metadata of a restricted caller and the names of its series are asked for together, within the time of one query', async () => {
  const paths = new Set<string>();
  const both = Promise.withResolvers<void>();
  stage.cluster.agents[1]!.misbehave = ({ url }, res) => {
    if (paths.add(url!).size === 2) both.resolve();
    void both.promise.then(() => res.writeHead(403).end('refusal'));
  };
  const { json } = await ask('shop', '/api/v1/metadata', { timeout: '3s' });
  expect(json.warnings).toEqual([expect.stringMatching(/^node node-2 is missing from this answer: auth .*refusal/)]);
});

import type { KubeObject } from '../api/meta.ts';
import type { ClusterTrafficPolicySpec } from '../api/v1alpha1/index.ts';
import type { Cache, Informer } from '../runtime/index.ts';
import { startQueryStage, type QueryStage } from '../testing/query/query-stage.ts';
import { watchQueryLimits } from './policy-limits.ts';

/** A watch whose objects the test sets. */
function aWatch(): { informer: Informer<KubeObject>; set: (objects: object[]) => void } {
  let objects: KubeObject[] = [];
  const listeners: (() => void)[] = [];
  const informer = {
    list: () => objects,
    get: ({ name }: { name: string }) => objects.find(({ metadata }) => metadata.name === name),
    onEvent: (listener: () => void) => listeners.push(listener),
  };
  const set = (next: object[]): void => {
    objects = next as KubeObject[];
    for (const listener of listeners) listener();
  };
  return { informer: informer as unknown as Informer<KubeObject>, set };
}

const policies = aWatch();
const namespaces = aWatch();
const limits = watchQueryLimits({ informer: () => policies.informer } as unknown as Cache, namespaces.informer);
const apply = (query: ClusterTrafficPolicySpec['query'], more: ClusterTrafficPolicySpec = {}): void =>
  policies.set([{ metadata: { name: 'one' }, spec: { query, ...more } }]);

/** Each user may read only the namespace of the same name; `root` may read everything. */
const reviews = {
  reviewToken: (token: string) => Promise.resolve({ username: token, groups: [] }),
  mayAccessPath: () => Promise.resolve(true),
  mayReadPods: ({ username }: { username: string }, namespace?: string) =>
    Promise.resolve(username === 'root' || username === namespace),
};
const flags = {
  tenancy: 'true',
  loopbackExempt: 'false',
  queryTimeout: '20s',
  maxSamples: '100000',
  agentTimeout: '9s',
};
const now = Date.now();
let stage: QueryStage;
beforeAll(async () => {
  namespaces.set(['shop', 'bank'].map((name) => ({ metadata: { name, labels: { team: name } } })));
  const tenants = { reviews, namespaces: { synced: true, names: () => ['shop', 'bank'] } };
  stage = await startQueryStage({ nodes: ['node-1', 'node-2'], flags, reviews, tenants, limits });
  for (const node of ['node-1', 'node-2']) {
    for (const k8s_namespace_name of ['shop', 'bank']) {
      for (const i of ['1', '2']) {
        stage.cluster.append(node, { __name__: 'x', i, k8s_namespace_name, k8s_node_name: node }, now, 1);
      }
    }
  }
});
afterAll(() => stage.close());
afterEach(() => {
  policies.set([]);
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
});

const ask = (user: string, path: string, params = {}, headers = {}): ReturnType<QueryStage['ask']> =>
  stage.ask(path, params, { headers: { authorization: `Bearer ${user}`, ...headers } });
const query = (user = 'root', text = 'sum(x)', headers = {}): ReturnType<QueryStage['ask']> =>
  ask(user, '/api/v1/query', { query: text, time: `${now / 1000}` }, headers);
const hang = (): void => {
  for (const agent of stage.cluster.agents) agent.misbehave = () => {};
};

test('timeout ends a query that runs longer', async () => {
  // Less than the agent timeout of nine seconds, and enough for a busy machine to answer without the agents.
  apply({ timeout: '3s' });
  hang();
  const started = performance.now();
  // Agents are given up in time for an answer without them.
  expect((await query()).json.warnings?.[0]).toContain('timeout after');
  expect(performance.now() - started).toBeLessThan(9_000);
});

test('perAgentTimeout limits the wait for an agent', async () => {
  apply({ perAgentTimeout: '100ms' });
  hang();
  const { json } = await query();
  expect(json).toMatchObject({ status: 'success', missingNodes: ['node-1', 'node-2'] });
  // The flag of the server says nine seconds.
  expect(Number(/timeout after (\d+) ms/.exec(json.warnings![0]!)![1])).toBeLessThan(8_000);
});

test('maxSamples limits the samples that a query may hold', async () => {
  expect((await query('root', 'x[1h:1s]')).status).toBe(200);
  apply({ maxSamples: 1_000 });
  const { status, json } = await query('root', 'x[1h:1s]');
  expect([status, json.error]).toEqual([422, expect.stringContaining('too many samples')]);
});

test.each(['whole', 'agg', 'series', 'off'])('maxSeries limits the series of a query, on path %s', async (path) => {
  const headers = { 'x-svc-pushdown': path };
  apply({ maxSeries: 8 });
  expect(await query('root', 'sum(x)', headers)).toMatchObject({ status: 200, json: { degraded: false } });
  apply({ maxSeries: 7 });
  const { status, json } = await query('root', 'sum(x)', headers);
  expect([status, json.error]).toEqual([422, expect.stringMatching(/touches 8 series or more, at most 7 are allowed/)]);
});

test('maxSeries also limits lists of series and federation', async () => {
  apply({ maxSeries: 7 });
  const match = { 'match[]': 'x' };
  expect((await ask('root', '/api/v1/series', match)).status).toBe(422);
  expect((await ask('root', '/federate', match)).status).toBe(422);
});

test('partialResponse: Fail refuses an answer that lacks a node, whatever the client says', async () => {
  apply({ partialResponse: 'Fail' });
  expect((await query()).status).toBe(200);
  stage.cluster.agents[0]!.misbehave = (_req, res) => void res.writeHead(500).end();
  const { status, json } = await ask('root', '/api/v1/query', { query: 'sum(x)', partial_response: 'true' });
  expect([status, json.error]).toEqual([503, 'no answer from node-1 and a policy allows no partial answer']);
  apply({ partialResponse: 'Warn' });
  expect((await query()).json).toMatchObject({ status: 'success', missingNodes: ['node-1'] });
});

test('maxConcurrency limits the queries that run at a time; a change applies from the next query on', async () => {
  apply({ maxConcurrency: 1 });
  const waiting: (() => void)[] = [];
  for (const agent of stage.cluster.agents) {
    agent.misbehave = (req, res) => void waiting.push(() => agent.serve(req, res));
  }
  const { runner } = stage.server;
  const [first, second] = [query(), query()];
  while (waiting.length < 2) await new Promise((done) => setImmediate(done));
  expect(runner.running).toBe(1);
  // One user gets half of the concurrency.
  apply({ maxConcurrency: 6 });
  const third = query();
  while (waiting.length < 6) await new Promise((done) => setImmediate(done));
  expect(runner.running).toBe(3);
  for (const agent of stage.cluster.agents) agent.misbehave = undefined;
  for (const go of waiting) go();
  for (const one of [first, second, third]) expect((await one).status).toBe(200);
});

test('a policy with a namespaceSelector limits readers of these namespaces, not a reader of everything', async () => {
  apply({ maxSeries: 1 }, { namespaceSelector: { matchLabels: { team: 'shop' } } });
  expect((await query('shop')).status).toBe(422);
  expect((await query('bank')).status).toBe(200);
  expect((await query('root')).status).toBe(200);
  namespaces.set(['shop', 'bank'].map((name) => ({ metadata: { name, labels: { team: 'shop' } } })));
  expect((await query('bank')).status).toBe(422);
});

test("the server's flags are the outer bound, and status/flags shows the values that apply to the caller", async () => {
  apply({ timeout: '5m', perAgentTimeout: '2s', maxSamples: 2_000_000, maxSeries: 50, maxConcurrency: 3 });
  expect((await ask('root', '/api/v1/status/flags')).json.data).toMatchObject({
    'query.timeout': '20s',
    'agent.timeout': '2s',
    'query.max-samples': '100000',
    'query.max-series': '50',
    'query.max-concurrency': '3',
  });
});

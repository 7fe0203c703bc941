import { partialPath } from '../promql/index.ts';
import type { ApiAnswer } from '../testing/query/api-client.ts';
import { startQueryStage } from '../testing/query/query-stage.ts';
import type { QueryStage } from '../testing/query/query-stage.ts';
import { randomExpression } from '../testing/promql/random-expression.ts';
import { randomSeries } from '../testing/promql/random-series.ts';
import { Random } from '../testing/promql/random.ts';

/**
 * On each execution path, a user gets the answer of a cluster that has only the series of the user's namespaces.
 */

/** A minute ago: the random times go up to half an interval past it, and `/federate` reads at the present time. */
const end = Math.floor(Date.now() / 60_000) * 60_000 - 60_000;
const start = end - 900_000;
const nodes = ['n0', 'n1', 'n2'];
const users: Readonly<Record<string, readonly string[]>> = { one: ['i1'], two: ['api', 'b'], other: ['a', 'i0'] };
/** Namespaces without series, which only the user `wide` may see, beside all that have some. */
const empty = Array.from({ length: 350 }, (_, i) => `team-${i}-`.padEnd(63, 'x'));
const known = ['a', 'b', 'api', 'db', 'i0', 'i1', 'i2'];
const ways = ['', 'agg', 'series', 'off'];
/** Maps the generator's label names to those used here, so that each series has up to three namespaces. */
const names: Readonly<Record<string, string>> = {
  ...{ node: 'k8s_node_name', zone: 'k8s_namespace_name', job: 'k8s_src_namespace', instance: 'k8s_dst_namespace' },
};
const named = (text: string): string => text.replace(/\b(node|zone|job|instance)\b/g, (name) => names[name]!);

let shared: QueryStage;
const alone = new Map<string, QueryStage>();
const random = new Random(20_261_122);
const shape = { start, interval: 30_000, samples: 31, nodes: 3, histograms: false };
const series = randomSeries(random, shape).map(({ labels, samples }) => ({
  labels: Object.fromEntries(labels.map(([name, value]) => [names[name] ?? name, value])),
  samples,
}));

function load(stage: QueryStage, seen: readonly string[] | 'all'): number {
  let loaded = 0;
  for (const { labels, samples } of series) {
    const own = ['k8s_namespace_name', 'k8s_src_namespace', 'k8s_dst_namespace'].map((name) => labels[name] ?? '');
    if (seen !== 'all' && !own.some((namespace) => seen.includes(namespace))) continue;
    loaded++;
    for (const { time, value } of samples) stage.cluster.append(labels['k8s_node_name']!, labels, time, value);
  }
  return loaded;
}

beforeAll(async () => {
  const flags = { pushdown: 'whole', queryTimeout: '10s' };
  shared = await startQueryStage({
    nodes,
    flags: { ...flags, tenancy: 'true' },
    reviews: { reviewToken: async (token) => ({ username: token }), mayAccessPath: async () => true },
    tenants: {
      reviews: { mayReadPods: async ({ username }, namespace) => mayRead(username, namespace) },
      namespaces: { synced: true, names: () => [...known, ...empty] },
    },
  });
  const all = load(shared, 'all');
  for (const [user, seen] of Object.entries(users)) {
    const stage = await startQueryStage({ nodes, flags });
    alone.set(user, stage);
    const own = load(stage, seen);
    expect(own).toBeGreaterThan(all / 10);
    expect(own).toBeLessThan(all);
  }
});
afterAll(async () => {
  await shared?.close();
  for (const stage of alone.values()) await stage.close();
});

function mayRead(user: string, namespace: string | undefined): boolean {
  if (user === 'admin') return true;
  return namespace !== undefined && (user === 'wide' || users[user]!.includes(namespace));
}

const asUser = (user: string, way = ''): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${user}`, ...(way === '' ? {} : { 'x-svc-pushdown': way }) },
});

/** Compares both kinds of query on all paths with a cluster that has only what the user may see. */
async function compare(user: string, query: string): Promise<Set<string>> {
  const span = { start: String(end / 1000 - 600), end: String(end / 1000), step: '75' };
  const taken = new Set<string>();
  for (const [path, params] of [
    ['/api/v1/query', { query, time: String(end / 1000) }],
    ['/api/v1/query_range', { query, ...span }],
  ] as const) {
    const model = await alone.get(user)!.ask(path, params, asUser(user, 'off'));
    for (const way of ways) {
      const answer: ApiAnswer = await shared.ask(path, params, asUser(user, way));
      expect([query, way, answer.status, answer.text]).toEqual([query, way, model.status, model.text]);
      taken.add(String(answer.headers['x-svc-pushdown']));
    }
  }
  return taken;
}

test.each(Object.keys(users))('random queries of user %s see only the series of that user', async (user) => {
  const scope = { histograms: false, experimental: true, start, end };
  const taken = new Set<string>();
  for (let i = 0; i < 6; i++) {
    for (const way of await compare(user, named(randomExpression(random, scope)))) taken.add(way);
  }
  expect([...taken]).toEqual(expect.arrayContaining(['off', 'agg', 'series']));
});

test.each([
  'sum by (k8s_src_namespace, k8s_dst_namespace) (requests_total)',
  'count by (k8s_namespace_name) ({__name__=~".+"})',
  'topk(3, rate(requests_total[5m]))',
  'max_over_time(sum by (k8s_node_name) (rate(requests_total[2m]))[10m:1m])',
  'sum(requests_total{k8s_dst_namespace="i0"}) / sum(requests_total)',
  'sum(requests_total{k8s_node_name="n1"}) or vector(0)',
  'count(requests_total{k8s_src_namespace!="api"} offset 3m)',
  'absent(requests_total{k8s_src_namespace="db",k8s_dst_namespace="i2",k8s_namespace_name=""})',
])('every user sees only the series of that user: %s', async (query) => {
  for (const user of Object.keys(users)) await compare(user, query);
});

test('a user’s query is computed by the agents, and its statistics leave out the hidden series', async () => {
  const params = { query: 'sum(requests_total)', time: String(end / 1000), explain: '1', stats: 'all' };
  const [mine, model] = await Promise.all([
    shared.ask('/api/v1/query', params, asUser('one')),
    alone.get('one')!.ask('/api/v1/query', params),
  ]);
  const told = ({ json }: ApiAnswer): object => {
    const { explain, data } = json as unknown as {
      explain: { path: string; fragments: { nodes: { rows: number; samplesDecoded: number }[] }[] };
      data: { stats: { samples: object } };
    };
    const nodes = explain.fragments.flatMap((one) =>
      one.nodes.map(({ rows, samplesDecoded }) => [rows, samplesDecoded]),
    );
    return { path: explain.path, nodes, samples: data.stats.samples };
  };
  expect(told(mine)).toEqual(told(model));
  const counted = expect.arrayContaining([[expect.any(Number), expect.any(Number)]]);
  expect(told(mine)).toMatchObject({ path: 'agg', nodes: counted });
});

test('samples of an agent too old to restrict a query are read raw, and only the visible ones count', async () => {
  const refused: unknown[] = [];
  const [agent] = shared.cluster.agents;
  agent!.misbehave = (req, res) => {
    if (req.url !== partialPath) return agent!.serve(req, res);
    const parts: Buffer[] = [];
    req
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        const { v } = JSON.parse(Buffer.concat(parts).toString()) as { v: number };
        refused.push(v);
        res.statusCode = v === 1 ? 200 : 501;
        res.end(JSON.stringify({ code: 'unsupported', message: `version ${v} is not 1` }));
      });
  };
  try {
    expect(await compare('one', 'sum by (code) (requests_total)')).toEqual(new Set(['off']));
    expect(new Set(refused)).toEqual(new Set([2]));
  } finally {
    agent!.misbehave = undefined;
  }
});

/** Together with the namespaces of the user `wide`, these selectors are longer than a request of either kind may be. */
const many = Array.from({ length: 34 }, (_, i) => `{__name__=~".+",k8s_src_namespace!="",k8s_src_namespace!="${i}"}`);

test.each([
  ['/federate', { 'match[]': many }],
  ['/api/v1/series', { 'match[]': many }],
])('a user of very many namespaces gets what a user of all gets: %s', async (path, params) => {
  const all = await shared.ask(path, params, asUser('admin'));
  const wide = await shared.ask(path, params, asUser('wide'));
  expect([wide.status, wide.headers['x-svc-missing-nodes'], wide.text]).toEqual([200, undefined, all.text]);
  expect(wide.text).toContain('k8s_src_namespace');
});
